"""fuzz.py tells faults of libhdf5 from ours by the reports of the sanitizers."""

import unittest

import fuzz

LIBHDF5 = "    #{} 0x7f (/lib/x86_64-linux-gnu/libhdf5_serial.so.103+0xb22b7) (BuildId: e9)\n"
OURS = "    #{} 0x55 in parse_hdf5_dataset(std::string_view) /xgrad/storage/hdf5/foreign_hdf5.cpp:288:32\n"
TARGET = "    #{} 0x55 in memcpy (/xgrad/build/fuzz/tests/fuzz/fuzz_hdf5+0x129c73) (BuildId: b9)\n"


def stack(*lines):
    return "".join(line.format(number) for number, line in enumerate(lines)) + "\n"


class Fuzz(unittest.TestCase):
    def test_faults_of_libhdf5(self):
        in_libhdf5 = stack(TARGET, LIBHDF5, LIBHDF5, OURS)
        self.assertFalse(fuzz.is_ours("ERROR: AddressSanitizer: SEGV\n" + in_libhdf5))
        self.assertFalse(fuzz.is_ours("ERROR: AddressSanitizer: heap-buffer-overflow\n" + in_libhdf5 + "allocated by:\n" + stack(TARGET, LIBHDF5)))
        self.assertFalse(fuzz.is_ours("ERROR: libFuzzer: timeout after 6 seconds\n" + stack(TARGET, TARGET, LIBHDF5, OURS)))
        self.assertFalse(fuzz.is_ours("ERROR: libFuzzer: out-of-memory\n" + stack(TARGET, OURS)))

    def test_faults_that_may_be_ours(self):
        in_libhdf5 = stack(TARGET, LIBHDF5, LIBHDF5, OURS)
        self.assertTrue(fuzz.is_ours("ERROR: AddressSanitizer: SEGV\n" + stack(OURS, OURS)))
        self.assertTrue(fuzz.is_ours("ERROR: AddressSanitizer: heap-buffer-overflow\n" + in_libhdf5 + "allocated by:\n" + stack(TARGET, OURS)))
        self.assertTrue(fuzz.is_ours("ERROR: libFuzzer: deadly signal\n" + stack(TARGET, TARGET, OURS)))
        self.assertTrue(fuzz.is_ours("ERROR: AddressSanitizer: SEGV\n" + stack(TARGET, TARGET)), "without symbols")


if __name__ == "__main__":
    unittest.main()
