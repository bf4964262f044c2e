/* Finds XLA's places in the source in the payloads of NVTX ranges. A program describes its payloads to NVTX's payload
 * extension ("schemas"). Those with an entry "Source locations", a registered string, are remembered. Any thread may
 * call; lock-free, no malloc. */
#ifndef NVTX_PAYLOAD_H
#define NVTX_PAYLOAD_H

#include <stdint.h>

#include "nvtx_abi.h"

#define NVTX_PAYLOAD_SCHEMAS_MAX 64u /* that are remembered */

/* Takes over the registration of schemas. Returns 1; 0: it is another extension. */
int nvtx_payload_take_over(const struct nvtx_extension *extension);

/* Returns the handle of the registered string in the range's payload that names places in the source; NULL: it has
 * none. */
const void *nvtx_payload_places(const struct nvtx_attributes *attributes);

#endif
