"""The order in which xgrad's loader returns training examples, and the tokens that it draws, computed with a Philox of our own."""

import functools
import itertools
import math

MASK32, MASK64 = 2**32 - 1, 2**64 - 1
# Last words of a counter: what is drawn.
BELOW, FORK = 1, 0xF0F0F0F0


def philox(key, counter):
    """Philox4x32-10, Salmon et al. 2011."""
    a, b, c, d = counter
    k, l = key & MASK32, key >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ k, second & MASK32, (first >> 32) ^ d ^ l, first & MASK32
        k, l = (k + 0x9E3779B9) & MASK32, (l + 0xBB67AE85) & MASK32
    return a, b, c, d


def draw(key, number, third, kind):
    words = philox(key, (number & MASK32, number >> 32, third, kind))
    return words[1] << 32 | words[0]


def fork(key, step):
    """The key of Rng / step, a number or a name, of which each round takes eight letters."""
    if isinstance(step, int):
        return draw(key, step, 0, FORK)
    for at in range(0, len(step) + 1, 8):
        key = draw(key, int.from_bytes(step[at : at + 8].encode(), "big"), len(step) + 1, FORK)
    return key


def stream(seed, *path):
    """The key of Rng(seed) / path[0] / path[1] ..."""
    return functools.reduce(fork, path, seed)


def split_of(ids):
    """A tenth of all inputs are for the test, a tenth for validation: four tokens a round, keyed by the round before."""
    key = int.from_bytes(b"splits\0\0", "big") + len(ids)
    for i in range(0, len(ids), 4):
        words = philox(key, (*ids[i : i + 4], 0, 0, 0)[:4])
        key = words[1] << 32 | words[0]
    return {0: "test", 1: "validation"}.get(key % 10, "train")


def tokens(seed, split, example, lengths, symbols):
    """An example of a task that draws its tokens uniformly, with a length from lengths[0] to lengths[1]: the first draw of the split."""
    for number in itertools.count():
        key = stream(seed, "tokens", split, example, number)
        length = lengths[0] + below(fork(key, "length"), lengths[1] - lengths[0] + 1, 0)
        words = [word for block in range(-(-length // 4)) for word in philox(key, (block, 0, 0, 0))]
        ids = [word * symbols >> 32 for word in words[:length]]
        if split_of(ids) == split:
            return ids


def below(key, bound, index):
    """A number below the bound; draws again in the last, incomplete interval."""
    limit = bound * (MASK64 // bound)
    attempt = 0
    while (drawn := draw(key, index, attempt, BELOW)) >= limit:
        attempt += 1
    return drawn % bound


def permutation(key, n):
    """Fisher and Yates."""
    order = list(range(n))
    for i in range(n, 1, -1):
        j = below(key, i, i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def epoch(number, lengths, *, seed, batch, bucket):
    """The minibatches of an epoch, lists of examples. `lengths` are those of the examples, in tokens."""
    order = permutation(stream(seed, "order", number), len(lengths))
    if bucket == 1:
        return [order[i : i + batch] for i in range(0, len(order), batch)]
    window = bucket * batch
    order = [e for i in range(0, len(order), window) for e in sorted(order[i : i + window], key=lambda e: lengths[e])]
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    full = len(order) // batch
    return [batches[i] for i in permutation(stream(seed, "batches", number), full)] + batches[full:]


def minibatches(lengths, growth=None, **options):
    """The minibatches of all epochs, without end; with growth = (first limit, steps, minibatches of a step), those of a curriculum."""
    returned = 0
    for number in itertools.count():
        batches = epoch(number, lengths, **options)
        if growth is None:
            yield from batches
            continue
        rest = sum(batches, [])
        while True:
            first, steps, group = growth
            limit = first + math.floor((max(lengths) - first) * min(1, returned // group / steps))
            batch = []
            while rest and len(batch) < options["batch"]:
                example = rest.pop(0)
                if lengths[example] <= limit:
                    batch.append(example)
            if not batch:
                break
            yield batch
            returned += 1


def mask_factor(seed, step, site, sample, rate):
    """The dropout factor of the first element of an example: a 16-bit number decides."""
    bits = philox(stream(seed, "dropout", step, stream(0, site)), (0, 0, 0, sample))[0] & 0xFFFF
    threshold = math.floor(rate * 65536 + 0.5)
    return 0.0 if bits < threshold else 65536 / (65536 - threshold)
