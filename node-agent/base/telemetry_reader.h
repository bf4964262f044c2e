/* Reads GPUs by NVML (nvml_library.h) a few times a second, in a thread of its own: a call takes microseconds to
 * milliseconds, or never returns. A GPU is read while a process uses it, and NVML is open for that time alone. The
 * agent loop asks; the thread touches nothing else. Settings of GPUs are never changed. */
#ifndef TELEMETRY_READER_H
#define TELEMETRY_READER_H

#include <stdint.h>

#include "proto/device_telemetry.h"

#define TELEMETRY_READER_DEVICES 64u /* GPUs; further ones are not read */
/* A multiple of the 100 ms in which GPUs copy the counters that GPM tells (docs/telemetry.md). */
#define TELEMETRY_READER_INTERVAL_MS 200u
#define TELEMETRY_READER_SHARE                                                                     \
	50u /* readings take this part of the time at most: some are left out else */
#define TELEMETRY_READER_HANG_NS 5000000000ull /* a reading that takes longer hangs */

struct telemetry_reader;

/* Tells the use of a GPU that has no GPM, by another way. reading is zero but for its refusal. */
struct nvml_gpm_reading;
typedef void telemetry_reader_more(void *context, uint32_t pci_domain, uint32_t pci_bus,
				   uint32_t pci_device, struct nvml_gpm_reading *reading);

/* Reads at multiples of interval_ms (above 0) of CLOCK_MONOTONIC, so that the time between two readings is one, too.
 * Only the first reading of a GPU that gets a user comes at once. NULL: out of memory. */
struct telemetry_reader *telemetry_reader_create(uint32_t interval_ms);

/* Asks more() after each reading of a GPU without GPM. It is called in the thread, and no longer once destroy() has
 * been called. Call it before use(). */
void telemetry_reader_ask(struct telemetry_reader *reader, telemetry_reader_more *more,
			  void *context);

/* Waits, at most wait_ms, until the thread has ended. A thread that the driver holds then ends when it can, and frees
 * the reader. Accepts NULL. */
void telemetry_reader_destroy(struct telemetry_reader *reader, uint32_t wait_ms);

/* A process begins, and ends, to use the GPU at this PCI address. Calls come in pairs. Without room or a thread the GPU
 * is not read. use() returns the reader's number of the GPU for the two calls below; -1: there is no room. */
int telemetry_reader_use(struct telemetry_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
			 uint32_t pci_device);
void telemetry_reader_leave(struct telemetry_reader *reader, int device);

/* Tells a row of a GPU as it is now; device_id is 0. Never waits. now_ns: CLOCK_MONOTONIC. told: the row that the
 * caller was told before, as of telemetry_sums_next(). */
void telemetry_reader_find(struct telemetry_reader *reader, int device, uint64_t now_ns,
			   const struct device_telemetry *told, struct device_telemetry *telemetry);

#endif
