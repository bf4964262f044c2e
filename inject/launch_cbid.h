/* The driver calls that are subscribed to: those that ask the GPU for work (launches, copies, fills), and those whose
 * stacks are wanted by what is recorded on request. Constant. */
#ifndef LAUNCH_CBID_H
#define LAUNCH_CBID_H

#include <stdint.h>

#define LAUNCH_CBIDS 174u

struct launch_cbid {
	uint16_t cbid;  /* CUpti_driver_api_trace_cbid */
	uint8_t flags;  /* enum record_launch_flags: RECORD_LAUNCH_MANY, _HOST or none */
	uint8_t option; /* enum record_option; 0: always subscribed to */
};

extern const struct launch_cbid launch_cbids[LAUNCH_CBIDS]; /* by rising cbid */

/* The flags of a cbid; 0 of one that is not in the table. */
uint32_t launch_cbid_flags(uint32_t cbid);

#endif
