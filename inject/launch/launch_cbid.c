#include "launch_cbid.h"

#include <stddef.h>

#include "proto/options/record_options.h"
#include "proto/record.h"

#define ONE  0
#define MANY RECORD_LAUNCH_MANY
#define HOST RECORD_LAUNCH_HOST
#define LOAD (RECORD_LAUNCH_HOST | RECORD_LAUNCH_MANY) /* a module's JIT and lazy parts, too */

#define POLL (RECORD_LAUNCH_HOST | LAUNCH_CBID_POLL)

#define W RECORD_OPTION_SYNC
#define L RECORD_OPTION_MODULES
#define M RECORD_OPTION_MEMORY

/* CUpti_driver_api_trace_cbid: append-only, so each number means the same in every version. */
const struct launch_cbid launch_cbids[LAUNCH_CBIDS] = {
	{17, HOST, W},  /* cuCtxSynchronize */
	{18, LOAD, L},  /* cuModuleLoad */
	{19, LOAD, L},  /* cuModuleLoadData */
	{20, LOAD, L},  /* cuModuleLoadDataEx */
	{21, LOAD, L},  /* cuModuleLoadFatBinary */
	{23, LOAD, L},  /* cuModuleGetFunction */
	{29, HOST, M},  /* cuMemAlloc */
	{30, HOST, M},  /* cu64MemAlloc */
	{31, HOST, M},  /* cuMemAllocPitch */
	{32, HOST, M},  /* cu64MemAllocPitch */
	{33, HOST, M},  /* cuMemFree */
	{34, HOST, M},  /* cu64MemFree */
	{37, HOST, M},  /* cuMemAllocHost */
	{38, HOST, M},  /* cuMemFreeHost */
	{39, HOST, M},  /* cuMemHostAlloc */
	{43, ONE, 0},   /* cuMemcpyHtoD */
	{44, ONE, 0},   /* cu64MemcpyHtoD */
	{45, ONE, 0},   /* cuMemcpyDtoH */
	{46, ONE, 0},   /* cu64MemcpyDtoH */
	{47, ONE, 0},   /* cuMemcpyDtoD */
	{48, ONE, 0},   /* cu64MemcpyDtoD */
	{49, ONE, 0},   /* cuMemcpyDtoA */
	{50, ONE, 0},   /* cu64MemcpyDtoA */
	{51, ONE, 0},   /* cuMemcpyAtoD */
	{52, ONE, 0},   /* cu64MemcpyAtoD */
	{53, ONE, 0},   /* cuMemcpyHtoA */
	{54, ONE, 0},   /* cuMemcpyAtoH */
	{55, ONE, 0},   /* cuMemcpyAtoA */
	{56, ONE, 0},   /* cuMemcpy2D */
	{57, ONE, 0},   /* cuMemcpy2DUnaligned */
	{58, ONE, 0},   /* cuMemcpy3D */
	{59, ONE, 0},   /* cu64Memcpy3D */
	{60, ONE, 0},   /* cuMemcpyHtoDAsync */
	{61, ONE, 0},   /* cu64MemcpyHtoDAsync */
	{62, ONE, 0},   /* cuMemcpyDtoHAsync */
	{63, ONE, 0},   /* cu64MemcpyDtoHAsync */
	{64, ONE, 0},   /* cuMemcpyDtoDAsync */
	{65, ONE, 0},   /* cu64MemcpyDtoDAsync */
	{66, ONE, 0},   /* cuMemcpyHtoAAsync */
	{67, ONE, 0},   /* cuMemcpyAtoHAsync */
	{68, ONE, 0},   /* cuMemcpy2DAsync */
	{69, ONE, 0},   /* cuMemcpy3DAsync */
	{70, ONE, 0},   /* cu64Memcpy3DAsync */
	{71, ONE, 0},   /* cuMemsetD8 */
	{72, ONE, 0},   /* cu64MemsetD8 */
	{73, ONE, 0},   /* cuMemsetD16 */
	{74, ONE, 0},   /* cu64MemsetD16 */
	{75, ONE, 0},   /* cuMemsetD32 */
	{76, ONE, 0},   /* cu64MemsetD32 */
	{77, ONE, 0},   /* cuMemsetD2D8 */
	{78, ONE, 0},   /* cu64MemsetD2D8 */
	{79, ONE, 0},   /* cuMemsetD2D16 */
	{80, ONE, 0},   /* cu64MemsetD2D16 */
	{81, ONE, 0},   /* cuMemsetD2D32 */
	{82, ONE, 0},   /* cu64MemsetD2D32 */
	{87, HOST, M},  /* cuArrayCreate */
	{89, HOST, M},  /* cuArrayDestroy */
	{90, HOST, M},  /* cuArray3DCreate */
	{115, ONE, 0},  /* cuLaunch */
	{116, ONE, 0},  /* cuLaunchGrid */
	{117, ONE, 0},  /* cuLaunchGridAsync */
	{120, POLL, W}, /* cuEventQuery */
	{121, HOST, W}, /* cuEventSynchronize */
	{125, POLL, W}, /* cuStreamQuery */
	{126, HOST, W}, /* cuStreamSynchronize */
	{216, ONE, 0},  /* cuMemsetD8Async */
	{217, ONE, 0},  /* cu64MemsetD8Async */
	{218, ONE, 0},  /* cuMemsetD16Async */
	{219, ONE, 0},  /* cu64MemsetD16Async */
	{220, ONE, 0},  /* cuMemsetD32Async */
	{221, ONE, 0},  /* cu64MemsetD32Async */
	{222, ONE, 0},  /* cuMemsetD2D8Async */
	{223, ONE, 0},  /* cu64MemsetD2D8Async */
	{224, ONE, 0},  /* cuMemsetD2D16Async */
	{225, ONE, 0},  /* cu64MemsetD2D16Async */
	{226, ONE, 0},  /* cuMemsetD2D32Async */
	{227, ONE, 0},  /* cu64MemsetD2D32Async */
	{232, ONE, 0},  /* cu64Memcpy2D */
	{233, ONE, 0},  /* cu64Memcpy2DUnaligned */
	{234, ONE, 0},  /* cu64Memcpy2DAsync */
	{243, HOST, M}, /* cuMemAlloc_v2 */
	{244, HOST, M}, /* cuMemAllocPitch_v2 */
	{245, HOST, M}, /* cuMemFree_v2 */
	{248, ONE, 0},  /* cuMemcpy_v2 */
	{249, ONE, 0},  /* cuMemsetD8_v2 */
	{250, ONE, 0},  /* cuMemsetD16_v2 */
	{251, ONE, 0},  /* cuMemsetD32_v2 */
	{252, ONE, 0},  /* cuMemsetD2D8_v2 */
	{253, ONE, 0},  /* cuMemsetD2D16_v2 */
	{254, ONE, 0},  /* cuMemsetD2D32_v2 */
	{271, HOST, M}, /* cuMemHostAlloc_v2 */
	{272, HOST, M}, /* cuArrayCreate_v2 */
	{274, HOST, M}, /* cuArray3DCreate_v2 */
	{276, ONE, 0},  /* cuMemcpyHtoD_v2 */
	{277, ONE, 0},  /* cuMemcpyHtoDAsync_v2 */
	{278, ONE, 0},  /* cuMemcpyDtoH_v2 */
	{279, ONE, 0},  /* cuMemcpyDtoHAsync_v2 */
	{280, ONE, 0},  /* cuMemcpyDtoD_v2 */
	{281, ONE, 0},  /* cuMemcpyDtoDAsync_v2 */
	{282, ONE, 0},  /* cuMemcpyAtoH_v2 */
	{283, ONE, 0},  /* cuMemcpyAtoHAsync_v2 */
	{284, ONE, 0},  /* cuMemcpyAtoD_v2 */
	{285, ONE, 0},  /* cuMemcpyDtoA_v2 */
	{286, ONE, 0},  /* cuMemcpyAtoA_v2 */
	{287, ONE, 0},  /* cuMemcpy2D_v2 */
	{288, ONE, 0},  /* cuMemcpy2DUnaligned_v2 */
	{289, ONE, 0},  /* cuMemcpy2DAsync_v2 */
	{290, ONE, 0},  /* cuMemcpy3D_v2 */
	{291, ONE, 0},  /* cuMemcpy3DAsync_v2 */
	{292, ONE, 0},  /* cuMemcpyHtoA_v2 */
	{293, ONE, 0},  /* cuMemcpyHtoAAsync_v2 */
	{294, HOST, M}, /* cuMemAllocHost_v2 */
	{295, HOST, W}, /* cuStreamWaitEvent */
	{305, ONE, 0},  /* cuMemcpy */
	{306, ONE, 0},  /* cuMemcpyAsync */
	{307, ONE, 0},  /* cuLaunchKernel */
	{318, ONE, 0},  /* cuMemcpyPeer */
	{319, ONE, 0},  /* cuMemcpyPeerAsync */
	{320, ONE, 0},  /* cuMemcpy3DPeer */
	{321, ONE, 0},  /* cuMemcpy3DPeerAsync */
	{347, HOST, M}, /* cuMipmappedArrayCreate */
	{349, HOST, M}, /* cuMipmappedArrayDestroy */
	{371, HOST, M}, /* cuMemAllocManaged */
	{397, ONE, 0},  /* cuMemcpyHtoD_v2_ptds */
	{398, ONE, 0},  /* cuMemcpyDtoH_v2_ptds */
	{399, ONE, 0},  /* cuMemcpyDtoD_v2_ptds */
	{400, ONE, 0},  /* cuMemcpyDtoA_v2_ptds */
	{401, ONE, 0},  /* cuMemcpyAtoD_v2_ptds */
	{402, ONE, 0},  /* cuMemcpyHtoA_v2_ptds */
	{403, ONE, 0},  /* cuMemcpyAtoH_v2_ptds */
	{404, ONE, 0},  /* cuMemcpyAtoA_v2_ptds */
	{405, ONE, 0},  /* cuMemcpy2D_v2_ptds */
	{406, ONE, 0},  /* cuMemcpy2DUnaligned_v2_ptds */
	{407, ONE, 0},  /* cuMemcpy3D_v2_ptds */
	{408, ONE, 0},  /* cuMemcpy_ptds */
	{409, ONE, 0},  /* cuMemcpyPeer_ptds */
	{410, ONE, 0},  /* cuMemcpy3DPeer_ptds */
	{411, ONE, 0},  /* cuMemsetD8_v2_ptds */
	{412, ONE, 0},  /* cuMemsetD16_v2_ptds */
	{413, ONE, 0},  /* cuMemsetD32_v2_ptds */
	{414, ONE, 0},  /* cuMemsetD2D8_v2_ptds */
	{415, ONE, 0},  /* cuMemsetD2D16_v2_ptds */
	{416, ONE, 0},  /* cuMemsetD2D32_v2_ptds */
	{418, ONE, 0},  /* cuMemcpyAsync_ptsz */
	{419, ONE, 0},  /* cuMemcpyHtoAAsync_v2_ptsz */
	{420, ONE, 0},  /* cuMemcpyAtoHAsync_v2_ptsz */
	{421, ONE, 0},  /* cuMemcpyHtoDAsync_v2_ptsz */
	{422, ONE, 0},  /* cuMemcpyDtoHAsync_v2_ptsz */
	{423, ONE, 0},  /* cuMemcpyDtoDAsync_v2_ptsz */
	{424, ONE, 0},  /* cuMemcpy2DAsync_v2_ptsz */
	{425, ONE, 0},  /* cuMemcpy3DAsync_v2_ptsz */
	{426, ONE, 0},  /* cuMemcpyPeerAsync_ptsz */
	{427, ONE, 0},  /* cuMemcpy3DPeerAsync_ptsz */
	{428, ONE, 0},  /* cuMemsetD8Async_ptsz */
	{429, ONE, 0},  /* cuMemsetD16Async_ptsz */
	{430, ONE, 0},  /* cuMemsetD32Async_ptsz */
	{431, ONE, 0},  /* cuMemsetD2D8Async_ptsz */
	{432, ONE, 0},  /* cuMemsetD2D16Async_ptsz */
	{433, ONE, 0},  /* cuMemsetD2D32Async_ptsz */
	{436, HOST, W}, /* cuStreamWaitEvent_ptsz */
	{439, POLL, W}, /* cuStreamQuery_ptsz */
	{440, HOST, W}, /* cuStreamSynchronize_ptsz */
	{442, ONE, 0},  /* cuLaunchKernel_ptsz */
	{477, ONE, 0},  /* cuLaunchCooperativeKernel */
	{478, ONE, 0},  /* cuLaunchCooperativeKernel_ptsz */
	{480, MANY, 0}, /* cuLaunchCooperativeKernelMultiDevice */
	{514, MANY, 0}, /* cuGraphLaunch */
	{515, MANY, 0}, /* cuGraphLaunch_ptsz */
	{549, HOST, M}, /* cuMemCreate */
	{550, HOST, M}, /* cuMemRelease */
	{551, HOST, M}, /* cuMemMap */
	{552, HOST, M}, /* cuMemUnmap */
	{598, HOST, M}, /* cuMemAllocAsync */
	{599, HOST, M}, /* cuMemAllocAsync_ptsz */
	{600, HOST, M}, /* cuMemFreeAsync */
	{601, HOST, M}, /* cuMemFreeAsync_ptsz */
	{611, HOST, M}, /* cuMemAllocFromPoolAsync */
	{612, HOST, M}, /* cuMemAllocFromPoolAsync_ptsz */
	{652, ONE, 0},  /* cuLaunchKernelEx */
	{653, ONE, 0},  /* cuLaunchKernelEx_ptsz */
	{678, LOAD, L}, /* cuLibraryLoadData */
	{679, LOAD, L}, /* cuLibraryLoadFromFile */
	{681, LOAD, L}, /* cuLibraryGetKernel */
	{683, LOAD, L}, /* cuKernelGetFunction */
	{750, HOST, W}, /* cuGreenCtxWaitEvent */
	{756, HOST, W}, /* cuCtxWaitEvent */
	{776, MANY, 0}, /* cuMemcpyBatchAsync */
	{777, MANY, 0}, /* cuMemcpyBatchAsync_ptsz */
	{778, MANY, 0}, /* cuMemcpy3DBatchAsync */
	{779, MANY, 0}, /* cuMemcpy3DBatchAsync_ptsz */
	{796, MANY, 0}, /* cuMemcpyBatchAsync_v2 */
	{797, MANY, 0}, /* cuMemcpyBatchAsync_v2_ptsz */
	{798, MANY, 0}, /* cuMemcpy3DBatchAsync_v2 */
	{799, MANY, 0}, /* cuMemcpy3DBatchAsync_v2_ptsz */
	{800, HOST, W}, /* cuCtxSynchronize_v2 */
};

const struct launch_cbid *launch_cbid_find(uint32_t cbid)
{
	size_t low = 0, high = LAUNCH_CBIDS;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (launch_cbids[middle].cbid < cbid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < LAUNCH_CBIDS && launch_cbids[low].cbid == cbid ? &launch_cbids[low] : NULL;
}

uint32_t launch_cbid_find_flags(uint32_t cbid)
{
	const struct launch_cbid *launch = launch_cbid_find(cbid);

	return launch ? launch->flags : 0;
}
