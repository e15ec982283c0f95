"""What a measurement was taken on."""

import datetime
import os
import platform
import subprocess


def described():
    cpu = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    model = next((line.split(":")[1].strip() for line in cpu if line.startswith("Model name")), platform.machine())
    return {"date": datetime.date.today().isoformat(), "processor": model, "cores": len(os.sched_getaffinity(0))}
