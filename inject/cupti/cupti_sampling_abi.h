/* Declares the part of CUPTI's PC Sampling API that the guest uses (cupti_pcsampling.h, CUPTI 12.4 and later: before,
 * the record of an instruction was shorter). tests/inject/cupti/cupti_abi_test.c asserts all of it against the real
 * header, if that is installed. Sizes that the library checks end with the last field, without padding. Plain data. */
#ifndef CUPTI_SAMPLING_ABI_H
#define CUPTI_SAMPLING_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define CUPTI_ABI_OUT_OF_MEMORY           8  /* CUptiResult: the GPU's buffer of samples was full */
#define CUPTI_ABI_INSUFFICIENT_PRIVILEGES 35 /* CUptiResult */

#define CUPTI_ABI_STALL_NAME_SIZE 128 /* CUPTI_STALL_REASON_STRING_SIZE */

enum cupti_sampling_attribute { /* CUpti_PCSamplingConfigurationAttributeType */
				CUPTI_ABI_SAMPLING_PERIOD = 1, /* 2^n cycles, n from 5 to 31 */
				CUPTI_ABI_SAMPLING_REASONS = 2,
				CUPTI_ABI_SAMPLING_SCRATCH = 3,
				CUPTI_ABI_SAMPLING_HARDWARE = 4, /* bytes of the GPU's buffer */
				CUPTI_ABI_SAMPLING_MODE = 5,
				CUPTI_ABI_SAMPLING_START_STOP = 6,
				CUPTI_ABI_SAMPLING_BUFFER = 8,
};

#define CUPTI_ABI_SAMPLING_CONTINUOUS                                                              \
	1 /* CUpti_PCSamplingCollectionMode: kernels run as they would */
#define CUPTI_ABI_SAMPLING_SERIALIZED 2 /* one after the other, each launch until its kernel ends */

struct cupti_stall { /* CUpti_PCSamplingStallReason */
	uint32_t reason, samples;
};

struct cupti_instruction { /* CUpti_PCSamplingPCData */
	size_t size;       /* of this struct */
	uint64_t cubin_crc;
	uint64_t offset; /* in the function */
	uint32_t function_index, pad;
	const char *function; /* mangled */
	size_t nr_stalls;
	struct cupti_stall *stalls;
	uint32_t correlation_id; /* 0 in continuous mode */
};

struct cupti_samples { /* CUpti_PCSamplingData */
	size_t size;   /* of this struct */
	size_t room;   /* instructions that fit */
	uint64_t total, dropped;
	size_t nr_instructions, nr_remaining;
	uint64_t range_id;
	struct cupti_instruction *instructions;
	uint64_t other; /* samples of kernels that are not the program's */
	uint8_t buffer_full;
};

/* Parameters begin with their size, and a word that is 0. */
struct cupti_sampling_call { /* CUpti_PCSamplingEnableParams, …Disable…, …Start…, …StopParams */
	size_t size;
	void *reserved, *context;
};

struct cupti_sampling_get { /* CUpti_PCSamplingGetDataParams */
	size_t size;
	void *reserved, *context;
	struct cupti_samples *samples;
};

struct cupti_sampling_count { /* CUpti_PCSamplingGetNumStallReasonsParams */
	size_t size;
	void *reserved, *context;
	size_t *count;
};

struct cupti_sampling_reasons { /* CUpti_PCSamplingGetStallReasonsParams */
	size_t size;
	void *reserved, *context;
	size_t count;
	uint32_t *indexes;
	char **names;
};

struct cupti_sampling_setting { /* CUpti_PCSamplingConfigurationInfo */
	int attribute;          /* enum cupti_sampling_attribute */
	int status;
	union {
		uint64_t words[3];
		uint32_t number; /* period, mode, start and stop */
		size_t bytes;    /* scratch, hardware */
		struct cupti_samples *buffer;
		struct {
			size_t count;
			uint32_t *indexes;
		} reasons;
	};
};

struct cupti_sampling_settings { /* CUpti_PCSamplingConfigurationInfoParams */
	size_t size;
	void *reserved, *context;
	size_t count;
	struct cupti_sampling_setting *settings;
};

struct cupti_cubin_crc { /* CUpti_GetCubinCrcParams */
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

struct cupti_module_data { /* CUpti_ModuleResourceData */
	uint32_t module_id;
	size_t cubin_size;
	const void *cubin; /* during the callback alone */
};

static_assert(sizeof(struct cupti_instruction) == 64, "CUPTI's ABI");
static_assert(sizeof(struct cupti_samples) == 80, "CUPTI's ABI");
static_assert(sizeof(struct cupti_sampling_setting) == 32, "CUPTI's ABI");
static_assert(sizeof(struct cupti_sampling_settings) == 40, "CUPTI's ABI");
static_assert(sizeof(struct cupti_sampling_reasons) == 48, "CUPTI's ABI");

#endif
