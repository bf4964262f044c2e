/* Prints the fake host's devices as FAKE_CUDA_DEVICE_LIST would hold them. */
#include <stdio.h>

#include "sim/sim_device.h"

int main(void)
{
	sim_device_init();
	return sim_device_write_list(stdout) == 0 ? 0 : 1;
}
