/* libFuzzer's way into one harness; built once for each, with FUZZ_READER its name. */
#include "fuzz/fuzz.h"

#define JOINED(reader) fuzz_##reader
#define HARNESS(reader) JOINED(reader)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    return HARNESS(FUZZ_READER)(bytes, n);
}
