/* Numbers of CUDA's driver functions, as a ring has them. Each has a name, a number beyond all functions the one
 * for unknown ones. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/guests/cuda_api.h"

#define CBID_MAX UINT16_MAX

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t cbid;

	for (; size >= sizeof(cbid); data += sizeof(cbid), size -= sizeof(cbid)) {
		memcpy(&cbid, data, sizeof(cbid));
		const char *name = cuda_api_name(cbid);
		if (strcmp(name, CUDA_API_UNKNOWN) != 0 &&
		    (strncmp(name, "cu", 2) != 0 || cbid > CBID_MAX))
			abort();
		if (cuda_api_name(cbid) != name)
			abort();
	}
	return 0;
}
