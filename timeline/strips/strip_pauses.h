/* Chooses the devices whose strips tell that nothing was captured, beside those with work. Used by one thread. */
#ifndef STRIP_PAUSES_H
#define STRIP_PAUSES_H

#include <stdint.h>

#include "strip_devices.h"

#include "timeline/trace/capture_pauses.h"

enum strip_has { STRIP_HAS_WORK = 1, STRIP_HAS_PAUSE = 2 };

/* have: by index of the devices, STRIP_HAS_WORK of those with work in the part. A process without any may have had some
 * while it was not captured, on any of its devices: each gets STRIP_HAS_PAUSE if a pause of the process has a part of
 * the time. */
void strip_pauses_show(const struct capture_pauses *pauses, const struct strip_devices *devices,
		       uint64_t from_ns, uint64_t to_ns, uint8_t *have);

#endif
