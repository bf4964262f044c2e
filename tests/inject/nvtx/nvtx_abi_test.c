/* The guest's own NVTX header against the toolkit's. */
#include "inject/nvtx/nvtx_abi.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>

#define SAME_FIELD(ours, own, theirs, field)                                                       \
	do {                                                                                       \
		assert_int_equal(offsetof(struct ours, own), offsetof(theirs, field));             \
		assert_int_equal(sizeof(((struct ours *)0)->own), sizeof(((theirs *)0)->field));   \
	} while (0)

static void numbers_are_those_of_the_headers(void **state)
{
	(void)state;
	assert_int_equal(NVTX_ABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
	assert_int_equal(NVTX_ABI_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
	assert_int_equal(NVTX_ABI_MODULE_CORE, NVTX_CB_MODULE_CORE);
	assert_int_equal(NVTX_ABI_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
	assert_int_equal(NVTX_ABI_MODULE_CUDA, NVTX_CB_MODULE_CUDA);
	assert_int_equal(NVTX_ABI_MODULE_CUDART, NVTX_CB_MODULE_CUDART);
	assert_int_equal(NVTX_ABI_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
	assert_int_equal(NVTX_ABI_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
	assert_int_equal(NVTX_ABI_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
	assert_int_equal(NVTX_ABI_RANGE_END, NVTX_CBID_CORE_RangeEnd);
	assert_int_equal(NVTX_ABI_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
	assert_int_equal(NVTX_ABI_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
	assert_int_equal(NVTX_ABI_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
	assert_int_equal(NVTX_ABI_RANGE_POP, NVTX_CBID_CORE_RangePop);
	assert_int_equal(NVTX_ABI_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
	assert_int_equal(NVTX_ABI_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
	assert_int_equal(NVTX_ABI_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
	assert_int_equal(NVTX_ABI_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
	assert_int_equal(NVTX_ABI_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
	assert_int_equal(NVTX_ABI_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
	assert_int_equal(NVTX_ABI_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
	assert_int_equal(NVTX_ABI_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
	assert_int_equal(NVTX_ABI_NAME_CU_STREAM_A, NVTX_CBID_CUDA_NameCuStreamA);
	assert_int_equal(NVTX_ABI_NAME_CU_STREAM_W, NVTX_CBID_CUDA_NameCuStreamW);
	assert_int_equal(NVTX_ABI_NAME_CUDA_STREAM_A, NVTX_CBID_CUDART_NameCudaStreamA);
	assert_int_equal(NVTX_ABI_NAME_CUDA_STREAM_W, NVTX_CBID_CUDART_NameCudaStreamW);
	assert_int_equal(NVTX_ABI_MESSAGE_NONE, NVTX_MESSAGE_UNKNOWN);
	assert_int_equal(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
	assert_int_equal(NVTX_ABI_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
	assert_int_equal(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
	assert_int_equal(NVTX_ABI_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
	assert_int_equal(sizeof(nvtxRangeId_t), sizeof(uint64_t));
}

static void structs_are_those_of_the_headers(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
	SAME_FIELD(nvtx_attributes, version, nvtxEventAttributes_t, version);
	SAME_FIELD(nvtx_attributes, size, nvtxEventAttributes_t, size);
	SAME_FIELD(nvtx_attributes, category, nvtxEventAttributes_t, category);
	SAME_FIELD(nvtx_attributes, message_type, nvtxEventAttributes_t, messageType);
	SAME_FIELD(nvtx_attributes, message, nvtxEventAttributes_t, message);
	assert_int_equal(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
	SAME_FIELD(nvtx_callbacks, struct_size, NvtxExportTableCallbacks, struct_size);
	SAME_FIELD(nvtx_callbacks, get_module_table, NvtxExportTableCallbacks,
		   GetModuleFunctionTable);
	assert_int_equal(sizeof(struct nvtx_version), sizeof(NvtxExportTableVersionInfo));
	SAME_FIELD(nvtx_version, struct_size, NvtxExportTableVersionInfo, struct_size);
	SAME_FIELD(nvtx_version, version, NvtxExportTableVersionInfo, version);
	SAME_FIELD(nvtx_version, set_injection_version, NvtxExportTableVersionInfo,
		   SetInjectionNvtxVersion);
}

static void payloads_are_those_of_the_headers(void **state)
{
	(void)state;
	assert_int_equal(NVTX_ABI_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
	assert_int_equal(NVTX_ABI_REGISTER_SCHEMA, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
	assert_int_equal(NVTX_ABI_PAYLOAD_EXTENDED, NVTX_PAYLOAD_TYPE_EXT);
	assert_int_equal(NVTX_ABI_ENTRY_STRING_HANDLE,
			 NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
	assert_int_equal(NVTX_ABI_SCHEMA_DYNAMIC, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
	assert_int_equal(1 << NVTX_ABI_SCHEMA_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
	assert_int_equal(1 << NVTX_ABI_SCHEMA_NR_ENTRIES,
			 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
	assert_int_equal(1 << NVTX_ABI_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
	assert_int_equal(sizeof(struct nvtx_schema_entry), sizeof(nvtxPayloadSchemaEntry_t));
	SAME_FIELD(nvtx_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags);
	SAME_FIELD(nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
	SAME_FIELD(nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
	SAME_FIELD(nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
	assert_int_equal(sizeof(struct nvtx_schema), sizeof(nvtxPayloadSchemaAttr_t));
	SAME_FIELD(nvtx_schema, field_mask, nvtxPayloadSchemaAttr_t, fieldMask);
	SAME_FIELD(nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries);
	SAME_FIELD(nvtx_schema, nr_entries, nvtxPayloadSchemaAttr_t, numEntries);
	SAME_FIELD(nvtx_schema, schema_id, nvtxPayloadSchemaAttr_t, schemaId);
	assert_int_equal(sizeof(struct nvtx_payload), sizeof(nvtxPayloadData_t));
	SAME_FIELD(nvtx_payload, schema_id, nvtxPayloadData_t, schemaId);
	SAME_FIELD(nvtx_payload, size, nvtxPayloadData_t, size);
	SAME_FIELD(nvtx_payload, data, nvtxPayloadData_t, payload);
	assert_int_equal(sizeof(struct nvtx_segment), sizeof(nvtxExtModuleSegment_t));
	SAME_FIELD(nvtx_segment, nr_slots, nvtxExtModuleSegment_t, slotCount);
	SAME_FIELD(nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);
	assert_int_equal(sizeof(struct nvtx_extension), sizeof(nvtxExtModuleInfo_t));
	SAME_FIELD(nvtx_extension, module_id, nvtxExtModuleInfo_t, moduleId);
	SAME_FIELD(nvtx_extension, nr_segments, nvtxExtModuleInfo_t, segmentsCount);
	SAME_FIELD(nvtx_extension, segments, nvtxExtModuleInfo_t, segments);
	SAME_FIELD(nvtx_attributes, reserved, nvtxEventAttributes_t, reserved0);
	SAME_FIELD(nvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType);
	SAME_FIELD(nvtx_attributes, payload, nvtxEventAttributes_t, payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_headers),
		cmocka_unit_test(structs_are_those_of_the_headers),
		cmocka_unit_test(payloads_are_those_of_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
