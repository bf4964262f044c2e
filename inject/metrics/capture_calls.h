/* The driver's calls that begin and end the capture of a stream, by their CUPTI_DRIVER_TRACE_CBIDs
 * (cupti_driver_cbid.h). Pure. */
#ifndef CAPTURE_CALLS_H
#define CAPTURE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_CALLS 8u

extern const uint16_t capture_calls[CAPTURE_CALLS]; /* all of both */

bool capture_calls_have(uint32_t cbid);
bool capture_calls_begin(uint32_t cbid);
bool capture_calls_end(uint32_t cbid);

#endif
