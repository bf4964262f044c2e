#include "launch_cbid.h"

#include <stddef.h>

#include "proto/record.h"

#define ONE  0
#define MANY RECORD_LAUNCH_MANY

/* CUpti_driver_api_trace_cbid: append-only, so each number means the same in every version. */
const struct launch_cbid launch_cbids[LAUNCH_CBIDS] = {
	{43, ONE},   /* cuMemcpyHtoD */
	{44, ONE},   /* cu64MemcpyHtoD */
	{45, ONE},   /* cuMemcpyDtoH */
	{46, ONE},   /* cu64MemcpyDtoH */
	{47, ONE},   /* cuMemcpyDtoD */
	{48, ONE},   /* cu64MemcpyDtoD */
	{49, ONE},   /* cuMemcpyDtoA */
	{50, ONE},   /* cu64MemcpyDtoA */
	{51, ONE},   /* cuMemcpyAtoD */
	{52, ONE},   /* cu64MemcpyAtoD */
	{53, ONE},   /* cuMemcpyHtoA */
	{54, ONE},   /* cuMemcpyAtoH */
	{55, ONE},   /* cuMemcpyAtoA */
	{56, ONE},   /* cuMemcpy2D */
	{57, ONE},   /* cuMemcpy2DUnaligned */
	{58, ONE},   /* cuMemcpy3D */
	{59, ONE},   /* cu64Memcpy3D */
	{60, ONE},   /* cuMemcpyHtoDAsync */
	{61, ONE},   /* cu64MemcpyHtoDAsync */
	{62, ONE},   /* cuMemcpyDtoHAsync */
	{63, ONE},   /* cu64MemcpyDtoHAsync */
	{64, ONE},   /* cuMemcpyDtoDAsync */
	{65, ONE},   /* cu64MemcpyDtoDAsync */
	{66, ONE},   /* cuMemcpyHtoAAsync */
	{67, ONE},   /* cuMemcpyAtoHAsync */
	{68, ONE},   /* cuMemcpy2DAsync */
	{69, ONE},   /* cuMemcpy3DAsync */
	{70, ONE},   /* cu64Memcpy3DAsync */
	{71, ONE},   /* cuMemsetD8 */
	{72, ONE},   /* cu64MemsetD8 */
	{73, ONE},   /* cuMemsetD16 */
	{74, ONE},   /* cu64MemsetD16 */
	{75, ONE},   /* cuMemsetD32 */
	{76, ONE},   /* cu64MemsetD32 */
	{77, ONE},   /* cuMemsetD2D8 */
	{78, ONE},   /* cu64MemsetD2D8 */
	{79, ONE},   /* cuMemsetD2D16 */
	{80, ONE},   /* cu64MemsetD2D16 */
	{81, ONE},   /* cuMemsetD2D32 */
	{82, ONE},   /* cu64MemsetD2D32 */
	{115, ONE},  /* cuLaunch */
	{116, ONE},  /* cuLaunchGrid */
	{117, ONE},  /* cuLaunchGridAsync */
	{216, ONE},  /* cuMemsetD8Async */
	{217, ONE},  /* cu64MemsetD8Async */
	{218, ONE},  /* cuMemsetD16Async */
	{219, ONE},  /* cu64MemsetD16Async */
	{220, ONE},  /* cuMemsetD32Async */
	{221, ONE},  /* cu64MemsetD32Async */
	{222, ONE},  /* cuMemsetD2D8Async */
	{223, ONE},  /* cu64MemsetD2D8Async */
	{224, ONE},  /* cuMemsetD2D16Async */
	{225, ONE},  /* cu64MemsetD2D16Async */
	{226, ONE},  /* cuMemsetD2D32Async */
	{227, ONE},  /* cu64MemsetD2D32Async */
	{232, ONE},  /* cu64Memcpy2D */
	{233, ONE},  /* cu64Memcpy2DUnaligned */
	{234, ONE},  /* cu64Memcpy2DAsync */
	{248, ONE},  /* cuMemcpy_v2 */
	{249, ONE},  /* cuMemsetD8_v2 */
	{250, ONE},  /* cuMemsetD16_v2 */
	{251, ONE},  /* cuMemsetD32_v2 */
	{252, ONE},  /* cuMemsetD2D8_v2 */
	{253, ONE},  /* cuMemsetD2D16_v2 */
	{254, ONE},  /* cuMemsetD2D32_v2 */
	{276, ONE},  /* cuMemcpyHtoD_v2 */
	{277, ONE},  /* cuMemcpyHtoDAsync_v2 */
	{278, ONE},  /* cuMemcpyDtoH_v2 */
	{279, ONE},  /* cuMemcpyDtoHAsync_v2 */
	{280, ONE},  /* cuMemcpyDtoD_v2 */
	{281, ONE},  /* cuMemcpyDtoDAsync_v2 */
	{282, ONE},  /* cuMemcpyAtoH_v2 */
	{283, ONE},  /* cuMemcpyAtoHAsync_v2 */
	{284, ONE},  /* cuMemcpyAtoD_v2 */
	{285, ONE},  /* cuMemcpyDtoA_v2 */
	{286, ONE},  /* cuMemcpyAtoA_v2 */
	{287, ONE},  /* cuMemcpy2D_v2 */
	{288, ONE},  /* cuMemcpy2DUnaligned_v2 */
	{289, ONE},  /* cuMemcpy2DAsync_v2 */
	{290, ONE},  /* cuMemcpy3D_v2 */
	{291, ONE},  /* cuMemcpy3DAsync_v2 */
	{292, ONE},  /* cuMemcpyHtoA_v2 */
	{293, ONE},  /* cuMemcpyHtoAAsync_v2 */
	{305, ONE},  /* cuMemcpy */
	{306, ONE},  /* cuMemcpyAsync */
	{307, ONE},  /* cuLaunchKernel */
	{318, ONE},  /* cuMemcpyPeer */
	{319, ONE},  /* cuMemcpyPeerAsync */
	{320, ONE},  /* cuMemcpy3DPeer */
	{321, ONE},  /* cuMemcpy3DPeerAsync */
	{397, ONE},  /* cuMemcpyHtoD_v2_ptds */
	{398, ONE},  /* cuMemcpyDtoH_v2_ptds */
	{399, ONE},  /* cuMemcpyDtoD_v2_ptds */
	{400, ONE},  /* cuMemcpyDtoA_v2_ptds */
	{401, ONE},  /* cuMemcpyAtoD_v2_ptds */
	{402, ONE},  /* cuMemcpyHtoA_v2_ptds */
	{403, ONE},  /* cuMemcpyAtoH_v2_ptds */
	{404, ONE},  /* cuMemcpyAtoA_v2_ptds */
	{405, ONE},  /* cuMemcpy2D_v2_ptds */
	{406, ONE},  /* cuMemcpy2DUnaligned_v2_ptds */
	{407, ONE},  /* cuMemcpy3D_v2_ptds */
	{408, ONE},  /* cuMemcpy_ptds */
	{409, ONE},  /* cuMemcpyPeer_ptds */
	{410, ONE},  /* cuMemcpy3DPeer_ptds */
	{411, ONE},  /* cuMemsetD8_v2_ptds */
	{412, ONE},  /* cuMemsetD16_v2_ptds */
	{413, ONE},  /* cuMemsetD32_v2_ptds */
	{414, ONE},  /* cuMemsetD2D8_v2_ptds */
	{415, ONE},  /* cuMemsetD2D16_v2_ptds */
	{416, ONE},  /* cuMemsetD2D32_v2_ptds */
	{418, ONE},  /* cuMemcpyAsync_ptsz */
	{419, ONE},  /* cuMemcpyHtoAAsync_v2_ptsz */
	{420, ONE},  /* cuMemcpyAtoHAsync_v2_ptsz */
	{421, ONE},  /* cuMemcpyHtoDAsync_v2_ptsz */
	{422, ONE},  /* cuMemcpyDtoHAsync_v2_ptsz */
	{423, ONE},  /* cuMemcpyDtoDAsync_v2_ptsz */
	{424, ONE},  /* cuMemcpy2DAsync_v2_ptsz */
	{425, ONE},  /* cuMemcpy3DAsync_v2_ptsz */
	{426, ONE},  /* cuMemcpyPeerAsync_ptsz */
	{427, ONE},  /* cuMemcpy3DPeerAsync_ptsz */
	{428, ONE},  /* cuMemsetD8Async_ptsz */
	{429, ONE},  /* cuMemsetD16Async_ptsz */
	{430, ONE},  /* cuMemsetD32Async_ptsz */
	{431, ONE},  /* cuMemsetD2D8Async_ptsz */
	{432, ONE},  /* cuMemsetD2D16Async_ptsz */
	{433, ONE},  /* cuMemsetD2D32Async_ptsz */
	{442, ONE},  /* cuLaunchKernel_ptsz */
	{477, ONE},  /* cuLaunchCooperativeKernel */
	{478, ONE},  /* cuLaunchCooperativeKernel_ptsz */
	{480, MANY}, /* cuLaunchCooperativeKernelMultiDevice */
	{514, MANY}, /* cuGraphLaunch */
	{515, MANY}, /* cuGraphLaunch_ptsz */
	{652, ONE},  /* cuLaunchKernelEx */
	{653, ONE},  /* cuLaunchKernelEx_ptsz */
	{776, MANY}, /* cuMemcpyBatchAsync */
	{777, MANY}, /* cuMemcpyBatchAsync_ptsz */
	{778, MANY}, /* cuMemcpy3DBatchAsync */
	{779, MANY}, /* cuMemcpy3DBatchAsync_ptsz */
	{796, MANY}, /* cuMemcpyBatchAsync_v2 */
	{797, MANY}, /* cuMemcpyBatchAsync_v2_ptsz */
	{798, MANY}, /* cuMemcpy3DBatchAsync_v2 */
	{799, MANY}, /* cuMemcpy3DBatchAsync_v2_ptsz */
};

uint32_t launch_cbid_flags(uint32_t cbid)
{
	size_t low = 0, high = LAUNCH_CBIDS;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (launch_cbids[middle].cbid < cbid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < LAUNCH_CBIDS && launch_cbids[low].cbid == cbid ? launch_cbids[low].flags : 0;
}
