#include "window_cbid.h"

/* CUpti_driver_api_trace_cbid: append-only, so each number means the same in every version. */
const uint8_t window_cbid_roles[WINDOW_CBIDS] = {
	[17] = WINDOW_ROLE_WAIT_CONTEXT,   /* cuCtxSynchronize */
	[800] = WINDOW_ROLE_WAIT_CONTEXT,  /* cuCtxSynchronize_v2 */
	[126] = WINDOW_ROLE_WAIT_STREAM,   /* cuStreamSynchronize */
	[440] = WINDOW_ROLE_WAIT_STREAM_T, /* cuStreamSynchronize_ptsz */
	[121] = WINDOW_ROLE_WAIT,          /* cuEventSynchronize */
	[278] = WINDOW_ROLE_WAIT,          /* cuMemcpyDtoH_v2 */
	[398] = WINDOW_ROLE_WAIT,          /* cuMemcpyDtoH_v2_ptds */
	[305] = WINDOW_ROLE_WAIT,          /* cuMemcpy */
	[408] = WINDOW_ROLE_WAIT,          /* cuMemcpy_ptds */
	[346] = WINDOW_ROLE_BLOCKER,       /* cuStreamAddCallback */
	[437] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamAddCallback_ptsz */
	[458] = WINDOW_ROLE_BLOCKER,       /* cuStreamWaitValue32 */
	[459] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamWaitValue32_ptsz */
	[462] = WINDOW_ROLE_BLOCKER,       /* cuStreamBatchMemOp */
	[463] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamBatchMemOp_ptsz */
	[473] = WINDOW_ROLE_BLOCKER,       /* cuStreamWaitValue64 */
	[474] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamWaitValue64_ptsz */
	[527] = WINDOW_ROLE_BLOCKER,       /* cuLaunchHostFunc */
	[528] = WINDOW_ROLE_BLOCKER_T,     /* cuLaunchHostFunc_ptsz */
	[659] = WINDOW_ROLE_BLOCKER,       /* cuStreamWaitValue32_v2 */
	[660] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamWaitValue32_v2_ptsz */
	[661] = WINDOW_ROLE_BLOCKER,       /* cuStreamWaitValue64_v2 */
	[662] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamWaitValue64_v2_ptsz */
	[667] = WINDOW_ROLE_BLOCKER,       /* cuStreamBatchMemOp_v2 */
	[668] = WINDOW_ROLE_BLOCKER_T,     /* cuStreamBatchMemOp_v2_ptsz */
	[308] = WINDOW_ROLE_PROFILER_START, [309] = WINDOW_ROLE_PROFILER_STOP,
};
