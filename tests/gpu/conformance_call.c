#include "conformance_call.h"

#include <stdatomic.h>
#include <stdio.h>

static _Atomic uint32_t failed;

void conformance_call_expect(int result, const char *what)
{
	if (result == 0)
		return;
	printf("# %s: %d\n", what, result);
	failed++;
}

uint32_t conformance_call_failed(void)
{
	return failed;
}
