/* Lists the driver calls that the guest subscribes to. Some ask the GPU for work (launches, copies, fills). The others
 * are needed for their stacks, by records that a user requested. Constant. */
#ifndef LAUNCH_CBID_H
#define LAUNCH_CBID_H

#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_CBIDS 195u

/* A flag beside enum record_launch_flags: the call is a question that programs ask again and again. It gets a record
 * only once the answer is yes. */
#define LAUNCH_CBID_POLL 0x80u

struct launch_cbid {
	uint16_t cbid; /* CUpti_driver_api_trace_cbid */
	uint8_t flags; /* enum record_launch_flags: RECORD_LAUNCH_MANY, _HOST or none; LAUNCH_CBID_POLL */
	uint8_t option; /* enum record_option; 0: the guest always subscribes to it */
};

extern const struct launch_cbid launch_cbids[LAUNCH_CBIDS]; /* by rising cbid */

#define LAUNCH_CBID_KERNEL    307u /* cuLaunchKernel */
#define LAUNCH_CBID_KERNEL_EX 652u /* cuLaunchKernelEx */
#define LAUNCH_CBID_GRAPH     514u /* cuGraphLaunch */
#define LAUNCH_CBID_GRAPH_T   515u

/* Returns whether the call launches a kernel or a graph. */
static inline bool launch_cbid_is_launch(uint32_t cbid)
{
	switch (cbid) {
	case LAUNCH_CBID_KERNEL:
	case 442: /* cuLaunchKernel_ptsz */
	case 477: /* cuLaunchCooperativeKernel */
	case 478:
	case 480: /* cuLaunchCooperativeKernelMultiDevice */
	case LAUNCH_CBID_GRAPH:
	case LAUNCH_CBID_GRAPH_T:
	case LAUNCH_CBID_KERNEL_EX:
	case 653: /* cuLaunchKernelEx_ptsz */
		return true;
	default:
		return false;
	}
}

/* Returns the call's row; NULL: the call is not in the table. */
const struct launch_cbid *launch_cbid_find(uint32_t cbid);

/* Part of launch_cbid_flags(). */
uint32_t launch_cbid_find_flags(uint32_t cbid);

/* Returns the flags of a cbid; 0 if it is not in the table. Nearly all launches are of two kinds, which need no
 * search. */
static inline uint32_t launch_cbid_flags(uint32_t cbid)
{
	return cbid == LAUNCH_CBID_KERNEL || cbid == LAUNCH_CBID_KERNEL_EX
		       ? 0
		       : launch_cbid_find_flags(cbid);
}

#endif
