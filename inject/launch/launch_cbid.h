/* The driver calls that are subscribed to: those that ask the GPU for work (launches, copies, fills), and those whose
 * stacks are wanted by what is recorded on request. Constant. */
#ifndef LAUNCH_CBID_H
#define LAUNCH_CBID_H

#include <stdint.h>

#define LAUNCH_CBIDS 195u

/* In flags, beside enum record_launch_flags: a question that programs ask again and again, worth a record only once the
 * answer is yes. */
#define LAUNCH_CBID_POLL 0x80u

struct launch_cbid {
	uint16_t cbid; /* CUpti_driver_api_trace_cbid */
	uint8_t flags; /* enum record_launch_flags: RECORD_LAUNCH_MANY, _HOST or none; LAUNCH_CBID_POLL */
	uint8_t option; /* enum record_option; 0: always subscribed to */
};

extern const struct launch_cbid launch_cbids[LAUNCH_CBIDS]; /* by rising cbid */

#define LAUNCH_CBID_KERNEL  307u /* cuLaunchKernel */
#define LAUNCH_CBID_GRAPH   514u /* cuGraphLaunch */
#define LAUNCH_CBID_GRAPH_T 515u

/* The call's row; NULL: not in the table. */
const struct launch_cbid *launch_cbid_find(uint32_t cbid);

/* The flags of a cbid; 0 of one that is not in the table. */
uint32_t launch_cbid_flags(uint32_t cbid);

#endif
