/* The door to CUPTI's PM sampling and to CUDA's driver, for the process that samples. Only pm_library.c and
 * pm_session.c know their interfaces. Single-threaded. */
#ifndef PM_LIBRARY_H
#define PM_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

enum pm_function {
	PM_INITIALIZE,
	PM_CHIP,
	PM_HOST_INITIALIZE,
	PM_HOST_DEINITIALIZE,
	PM_HOST_ADD,
	PM_HOST_CONFIG_SIZE,
	PM_HOST_CONFIG,
	PM_HOST_PASSES,
	PM_HOST_EVALUATE,
	PM_AVAILABILITY,
	PM_ENABLE,
	PM_DISABLE,
	PM_SET,
	PM_COUNTERS_SIZE,
	PM_COUNTERS,
	PM_START,
	PM_STOP,
	PM_DECODE,
	PM_COUNTED,
	PM_SAMPLE,
	PM_FUNCTIONS,
};

struct pm_library {
	int (*call[PM_FUNCTIONS])(void *params);           /* each returns a CUptiResult */
	int (*find)(int *device, const char *pci_address); /* cuDeviceGetByPCIBusId() */
	enum pm_function failed;                           /* the last call that did, */
	int failure;                                       /* and its CUptiResult; 0: none */
	const char *oddity;                                /* what else went wrong; NULL: nothing */
};

/* Loads libcuda.so.1 and a libcupti of this environment (cupti_search.h), and starts both. They stay loaded. Returns
 * enum counter_refusal. */
uint32_t pm_library_open(struct pm_library *library);

/* Calls a function. Returns its CUptiResult, and notes one that is not 0. The second function does not note it: it is
 * for the end of what failed already. */
int pm_library_call(struct pm_library *library, enum pm_function function, void *params);
void pm_library_end(const struct pm_library *library, enum pm_function function, void *params);

/* Notes that something went wrong of which no call's result tells; NULL: forgets all that failed, as calls do that may
 * fail. The text is borrowed for good. */
void pm_library_note(struct pm_library *library, const char *oddity);

/* Returns what went wrong, else what failed last, as text for people: "cuptiPmSamplingStart() returned 999"; "" if
 * nothing did. Borrowed until the next call. */
const char *pm_library_failure(const struct pm_library *library);

/* Finds the number that CUDA has for the GPU at a PCI address (function 0). Returns enum counter_refusal. */
uint32_t pm_library_find(const struct pm_library *library, uint32_t pci_domain, uint32_t pci_bus,
			 uint32_t pci_device, size_t *device);

#endif
