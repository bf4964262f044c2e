/* Declares the small part of NVTX's binary interface that the guest uses, versions 2 and 3. With it a program's NVTX
 * asks an injected library to take over its functions. tests/inject/nvtx/nvtx_abi_test.c asserts all of it against the
 * real headers, if they are installed. Plain data. */
#ifndef NVTX_ABI_H
#define NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum nvtx_export_table { /* NvtxExportTableID */
			 NVTX_ABI_TABLE_CALLBACKS = 1,
			 NVTX_ABI_TABLE_VERSION = 3,
};

enum nvtx_module { /* NvtxCallbackModule */
		   NVTX_ABI_MODULE_CORE = 1,
		   NVTX_ABI_MODULE_CUDA = 2,
		   NVTX_ABI_MODULE_CUDART = 4,
		   NVTX_ABI_MODULE_CORE2 = 5,
};

enum nvtx_core_cbid { /* NvtxCallbackIdCore */
		      NVTX_ABI_RANGE_START_EX = 4,
		      NVTX_ABI_RANGE_START_A = 5,
		      NVTX_ABI_RANGE_START_W = 6,
		      NVTX_ABI_RANGE_END = 7,
		      NVTX_ABI_RANGE_PUSH_EX = 8,
		      NVTX_ABI_RANGE_PUSH_A = 9,
		      NVTX_ABI_RANGE_PUSH_W = 10,
		      NVTX_ABI_RANGE_POP = 11,
};

enum nvtx_core2_cbid { /* NvtxCallbackIdCore2 */
		       NVTX_ABI_DOMAIN_RANGE_START_EX = 2,
		       NVTX_ABI_DOMAIN_RANGE_END = 3,
		       NVTX_ABI_DOMAIN_RANGE_PUSH_EX = 4,
		       NVTX_ABI_DOMAIN_RANGE_POP = 5,
		       NVTX_ABI_DOMAIN_REGISTER_STRING_A = 10,
		       NVTX_ABI_DOMAIN_REGISTER_STRING_W = 11,
		       NVTX_ABI_DOMAIN_CREATE_A = 12,
		       NVTX_ABI_DOMAIN_CREATE_W = 13,
};

enum nvtx_cuda_cbid { /* NvtxCallbackIdCuda */
		      NVTX_ABI_NAME_CU_STREAM_A = 5,
		      NVTX_ABI_NAME_CU_STREAM_W = 6,
};

enum nvtx_cudart_cbid { /* NvtxCallbackIdCudaRt */
			NVTX_ABI_NAME_CUDA_STREAM_A = 3,
			NVTX_ABI_NAME_CUDA_STREAM_W = 4,
};

enum nvtx_message_type { /* nvtxMessageType_t */
			 NVTX_ABI_MESSAGE_NONE = 0,
			 NVTX_ABI_MESSAGE_ASCII = 1,
			 NVTX_ABI_MESSAGE_UNICODE = 2,
			 NVTX_ABI_MESSAGE_REGISTERED = 3,
};

#define NVTX_ABI_NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING */

/* nvtxEventAttributes_v2. */
struct nvtx_attributes {
	uint16_t version;
	uint16_t size; /* bytes of this struct that the caller has */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* enum nvtx_message_type */
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered; /* nvtxStringHandle_t */
	} message;
};

typedef void nvtx_function(void);

/* NvtxExportTableCallbacks. */
struct nvtx_callbacks {
	size_t struct_size;
	/* *table holds the addresses of *size function pointers, by cbid. 0: there is no such module. */
	int (*get_module_table)(int module, nvtx_function ****table, unsigned int *size);
};

/* NvtxExportTableVersionInfo. */
struct nvtx_version {
	size_t struct_size;
	uint32_t version;
	uint32_t reserved;
	void (*set_injection_version)(uint32_t version);
};

/* ---- the payload extension (nvToolsExtPayload.h, nvtxExtTypes.h) */

#define NVTX_ABI_EXTENSION_PAYLOAD   2u /* NVTX_EXT_PAYLOAD_MODULEID */
#define NVTX_ABI_REGISTER_SCHEMA     0u /* NVTX3EXT_CBID_nvtxPayloadSchemaRegister */
#define NVTX_ABI_PAYLOAD_EXTENDED    ((int32_t)0xdfbd0009) /* NVTX_PAYLOAD_TYPE_EXT */
#define NVTX_ABI_ENTRY_STRING_HANDLE 80u /* NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE */
/* NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START: ids that a tool gives. */
#define NVTX_ABI_SCHEMA_DYNAMIC (1ull << 32)

/* Bits of nvtx_schema.field_mask: NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_*. */
enum nvtx_schema_field {
	NVTX_ABI_SCHEMA_ENTRIES = 4,
	NVTX_ABI_SCHEMA_NR_ENTRIES = 5,
	NVTX_ABI_SCHEMA_ID = 8,
};

/* nvtxPayloadSchemaEntry_t. */
struct nvtx_schema_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *semantics, *reserved;
};

/* nvtxPayloadSchemaAttr_t. */
struct nvtx_schema {
	uint64_t field_mask;
	const char *name;
	uint64_t type, flags;
	const struct nvtx_schema_entry *entries;
	size_t nr_entries;
	size_t size, alignment;
	uint64_t schema_id;
	const void *extension;
};

/* nvtxPayloadData_t. */
struct nvtx_payload {
	uint64_t schema_id;
	size_t size;
	const void *data;
};

/* nvtxExtModuleSegment_t. */
struct nvtx_segment {
	size_t segment_id;
	size_t nr_slots;
	intptr_t *slots;
};

/* nvtxExtModuleInfo_t. */
struct nvtx_extension {
	uint16_t nvtx_version, struct_size, module_id, compatible_id;
	size_t nr_segments;
	struct nvtx_segment *segments;
	intptr_t (*get_export_function)(uint32_t id);
	const void *info;
};

typedef const void *nvtx_get_export_table(uint32_t table_id);

#endif
