"""The order in which xgrad's loader returns training examples, computed with a Philox of our own."""

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


def stream(seed, name, number):
    """The key of Rng(seed) / name / number, for a name below eight letters."""
    assert len(name) < 8
    named = draw(seed, int.from_bytes(name.encode(), "big"), len(name) + 1, FORK)
    return draw(named, number, 0, FORK)


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


def minibatches(lengths, **options):
    """The minibatches of all epochs, without end."""
    number = 0
    while True:
        yield from epoch(number, lengths, **options)
        number += 1
