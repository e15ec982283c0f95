#!/usr/bin/env python3
"""Both commands of the README in a bare Debian 12 and 13, as root and as a user with sudo: fresh.py [--ccache DIR] [--keep DIR] [CASE...]

    sudo tests/fresh.py                     # all four, some three hours on two cores
    sudo tests/fresh.py 13-root --ccache /var/cache/fresh

Each case gets a system of its own, which mmdebstrap makes of the mirror that this machine's apt uses, and a clean clone of what is
committed here. Nothing else is installed in it but sudo, where that is the case's, and ccache, where --ccache asks for it. --keep leaves the
logs of the commands in a folder. Ends with a table; exits with 1 when a command or a test failed, or a test was skipped or left out.
Needs root and Debian's mmdebstrap.
"""
import argparse
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASES = {"12": "bookworm", "13": "trixie"}
CASES = [f"{number}-{user}" for number in RELEASES for user in ("root", "sudo")]
COMMANDS = ("./run train configs/reverse.toml", "./run test")
CERTIFICATES = "etc/ssl/host-certificates.crt"
# What leads pip to its index is this machine's.
PASSED_ON = [name for name in os.environ if name == "PIP_INDEX_URL" or name.lower() in ("http_proxy", "https_proxy", "no_proxy")]
# In a mount namespace of its own: $1 the system, $2 the folder of ccache or nothing, then the words.
INSIDE = """
root=$1 ccache=$2
shift 2
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
if [ "$ccache" ]; then mkdir -p "$root/ccache"; mount --bind "$ccache" "$root/ccache"; fi
exec chroot "$root" sh -c 'cd /xgrad && exec "$@"' sh "$@"
"""


def call(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def mirror():
    """Where this machine's apt finds Debian."""
    targets = call("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages", "Origin: Debian")
    sites = [line.split()[0] for line in targets.splitlines() if re.fullmatch(r"[a-z]+", line.split()[1])]
    return sites[0] if sites else sys.exit("apt knows no archive of Debian: apt-get update")


class System:
    """A bare Debian in a folder, with a clean clone of this repository in /xgrad."""

    def __init__(self, folder, case, ccache):
        number, user = case.split("-")
        self.root, self.user, self.ccache = folder, user, ccache
        more = [f"--include={name}" for name, wanted in (("sudo", user == "sudo"), ("ccache", ccache)) if wanted]
        settings = [f"--aptopt={line}" for line in call("apt-config", "dump").splitlines() if re.match(r"Acquire::https?::.*[Pp]roxy", line)]
        call("mmdebstrap", "--quiet", "--variant=minbase", "--skip=cleanup/apt", *more, *settings,
             RELEASES[number], folder, "-", input=f"deb {mirror()} {RELEASES[number]} main\n")
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
        (folder / "etc/hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        certificates = pathlib.Path(os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt"))
        if certificates.exists():
            (folder / CERTIFICATES).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(certificates, folder / CERTIFICATES)
        # A copy whose files are its own, so that they may change hands.
        call("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder / "xgrad")
        if user == "sudo":
            call("chroot", folder, "useradd", "--create-home", "--home-dir", "/visitor", "visitor")
            call("chroot", folder, "chown", "--recursive", "visitor:", "/xgrad")
            (folder / "etc/sudoers.d/visitor").write_text("visitor ALL=(ALL) NOPASSWD: ALL\n")

    def run(self, command, log):
        """The exit code and the seconds of a command in /xgrad; what it says goes to `log`."""
        who, home = (["runuser", "--user", "visitor", "--"], "/visitor") if self.user == "sudo" else ([], "/root")
        environment = [f"HOME={home}", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
                       *(f"{name}={os.environ[name]}" for name in PASSED_ON)]
        if (self.root / CERTIFICATES).exists():
            environment.append(f"PIP_CERT=/{CERTIFICATES}")
        if self.ccache:
            environment += ["CCACHE_DIR=/ccache", "CCACHE_UMASK=000"]
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", INSIDE, "sh", self.root, self.ccache or "",
                 *who, "env", "-i", *environment, *command.split()]
        start = time.monotonic()
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        return done.returncode, time.monotonic() - start


def judge(case, results, said):
    """A row of the table, and whether all is well."""
    counted = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", said)
    skipped = len(re.findall(r"(?m)^\s*\d+/\d+ Test +#\d+: .*\*\*\*(?:Skipped|Not Run)", said))
    left_out = "left out, as they need" in said
    cells = [f"exit {code}, {seconds:.0f} s" for code, seconds in results]
    tests = f"{counted[3]} tests, {counted[2]} failed, {skipped} skipped" if counted else "none"
    good = bool(counted) and not skipped and not left_out and not any(code for code, _ in results)
    return [case, *cells, tests + (", some left out" if left_out else ""), "good" if good else "BAD"], good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--ccache", type=pathlib.Path, help="a folder of ccache that outlives the systems; the times mean nothing then")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the logs")
    arguments = parser.parse_args()
    if unknown := set(arguments.cases) - set(CASES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if os.getuid() != 0:
        sys.exit("fresh.py makes whole systems: run it as root")
    if arguments.ccache:
        arguments.ccache.mkdir(parents=True, exist_ok=True)
        arguments.ccache.chmod(0o777)
    rows, good = [["case", *(f"`{command}`" for command in COMMANDS), "tests", ""]], True
    for case in arguments.cases or CASES:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            scratch.chmod(0o755)  # for the user in there
            logs = arguments.keep or scratch
            logs.mkdir(parents=True, exist_ok=True)
            system = System(scratch / "debian", case, arguments.ccache and arguments.ccache.resolve())
            results = []
            for number, command in enumerate(COMMANDS, 1):
                with open(logs / f"{case}-{number}.log", "w") as log:
                    results.append(system.run(command, log))
                said = (logs / f"{case}-{number}.log").read_text(errors="replace")
                print(f"{case}: {command}: exit {results[-1][0]} after {results[-1][1]:.0f} s\n" +
                      "\n".join(said.splitlines()[-15:]), flush=True)
        row, well = judge(case, results, said)
        rows.append(row)
        good = good and well
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
