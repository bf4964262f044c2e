#include "nvtx_injection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "program_ranges.h"

#include "inject/cupti/stream_names.h"
#include "inject/nvtx/nvtx_payload.h"
#include "inject/nvtx/nvtx_ranges.h"
#include "inject/nvtx/xla_text.h"

#define MODULE  "XlaModule:#"
#define VERSION 3u /* of NVTX that the guest is made for */

static struct nvtx_names *names;

/* ---- names */

static uint32_t domain_of(const void *domain)
{
	return nvtx_names_of_domain_handle(names, domain);
}

/* Names a range that has no message by its category. */
static void category_text(struct nvtx_text *text, uint32_t category)
{
	char name[32];

	snprintf(name, sizeof(name), category ? "category %u" : "(no name)", category);
	nvtx_text_ascii(text, name);
}

/* Reads the message. Returns false if it is a registered string, *registered. */
static bool message_text(const struct nvtx_attributes *attributes, struct nvtx_text *text,
			 const void **registered)
{
	bool whole = attributes && attributes->size >= sizeof(*attributes);
	int type = whole ? attributes->message_type : NVTX_ABI_MESSAGE_NONE;

	*registered = NULL;
	if (type == NVTX_ABI_MESSAGE_REGISTERED) {
		*registered = attributes->message.registered;
		return false;
	}
	if (type == NVTX_ABI_MESSAGE_ASCII && attributes->message.ascii)
		nvtx_text_ascii(text, attributes->message.ascii);
	else if (type == NVTX_ABI_MESSAGE_UNICODE && attributes->message.unicode)
		nvtx_text_unicode(text, attributes->message.unicode);
	else
		category_text(text, whole ? attributes->category : 0);
	return true;
}

/* ---- pushed ranges */

/* Titles of XLA's operations have a place in the source. */
static uint32_t registered_name(const struct nvtx_attributes *attributes, const void *registered)
{
	uint32_t name = nvtx_names_of_handle(names, registered);
	const void *places;

	if (!nvtx_names_has_places(names, name) && (places = nvtx_payload_places(attributes)))
		nvtx_names_set_places(names, name, nvtx_names_of_handle(names, places));
	return name;
}

static int push_ex(const void *domain, const struct nvtx_attributes *attributes)
{
	struct nvtx_text text;
	const void *registered;

	if (message_text(attributes, &text, &registered))
		return nvtx_ranges_push(domain_of(domain), &text);
	return nvtx_ranges_push_name(domain_of(domain), registered_name(attributes, registered));
}

static int range_push_ex(const struct nvtx_attributes *attributes)
{
	return push_ex(NULL, attributes);
}

static int range_push_a(const char *message)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, message);
	return nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
}

static int range_push_w(const wchar_t *message)
{
	struct nvtx_text text;

	nvtx_text_unicode(&text, message);
	return nvtx_ranges_push(NVTX_DOMAIN_DEFAULT, &text);
}

static int range_pop(void)
{
	return nvtx_ranges_pop(NVTX_DOMAIN_DEFAULT);
}

static int domain_range_pop(const void *domain)
{
	return nvtx_ranges_pop(domain_of(domain));
}

/* ---- started ranges */

static uint64_t start_ex(const void *domain, const struct nvtx_attributes *attributes)
{
	struct nvtx_text text;
	const void *registered;

	if (message_text(attributes, &text, &registered))
		return nvtx_ranges_start(domain_of(domain), &text);
	return nvtx_ranges_start_name(domain_of(domain), registered_name(attributes, registered));
}

static uint64_t range_start_ex(const struct nvtx_attributes *attributes)
{
	return start_ex(NULL, attributes);
}

static uint64_t range_start_a(const char *message)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, message);
	return nvtx_ranges_start(NVTX_DOMAIN_DEFAULT, &text);
}

static uint64_t range_start_w(const wchar_t *message)
{
	struct nvtx_text text;

	nvtx_text_unicode(&text, message);
	return nvtx_ranges_start(NVTX_DOMAIN_DEFAULT, &text);
}

/* Ids are of all domains. */
static void domain_range_end(const void *domain, uint64_t range_id)
{
	(void)domain;
	nvtx_ranges_end(range_id);
}

/* ---- domains, strings, streams */

static const void *create_domain(const struct nvtx_text *text)
{
	return nvtx_names_domain_handle(names, nvtx_names_domain(names, text));
}

static const void *domain_create_a(const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	return create_domain(&text);
}

static const void *domain_create_w(const wchar_t *name)
{
	struct nvtx_text text;

	nvtx_text_unicode(&text, name);
	return create_domain(&text);
}

static const void *register_string(const void *domain, struct nvtx_text *text)
{
	return nvtx_names_handle(names, nvtx_names_intern(names, domain_of(domain), text));
}

static bool is_xla(uint32_t domain)
{
	const struct nvtx_text *text =
		domain == NVTX_DOMAIN_DEFAULT ? NULL : nvtx_names_domain_text(names, domain);

	return text && text->size == strlen(XLA_TEXT_DOMAIN) &&
	       memcmp(text->bytes, XLA_TEXT_DOMAIN, text->size) == 0;
}

/* XLA registers four strings for each operation: its title, its code, places in the source, and code that it calls.
 * Names are bounded, so code is not kept. NULL: a module, whose name is an ordinary one. */
static const void *register_xla(const void *domain, const char *string)
{
	struct nvtx_text text;
	uint32_t name = NVTX_NAME_LOST;

	if (xla_text_title(&text, string) || xla_text_places(&text, string))
		name = nvtx_names_intern_title(names, domain_of(domain), &text);
	else if (strncmp(string, MODULE, strlen(MODULE)) == 0)
		return NULL;
	return nvtx_names_handle(names, name);
}

static const void *register_string_a(const void *domain, const char *string)
{
	struct nvtx_text text;

	if (string && is_xla(domain_of(domain))) {
		const void *handle = register_xla(domain, string);

		if (handle)
			return handle;
	}
	nvtx_text_ascii(&text, string);
	return register_string(domain, &text);
}

static const void *register_string_w(const void *domain, const wchar_t *string)
{
	struct nvtx_text text;

	nvtx_text_unicode(&text, string);
	return register_string(domain, &text);
}

static void name_stream_a(const void *stream, const char *name)
{
	struct nvtx_text text;

	nvtx_text_ascii(&text, name);
	stream_names_set(stream, text.bytes, text.size);
}

static void name_stream_w(const void *stream, const wchar_t *name)
{
	struct nvtx_text text;

	nvtx_text_unicode(&text, name);
	stream_names_set(stream, text.bytes, text.size);
}

/* ---- taking over */

static const struct {
	int module;
	uint32_t cbid;
	nvtx_function *function;
} handlers[] = {
#define HANDLER(module, cbid, function)                                                            \
	{                                                                                          \
		NVTX_ABI_MODULE_##module, NVTX_ABI_##cbid, (nvtx_function *)function               \
	}
	HANDLER(CORE, RANGE_START_EX, range_start_ex),
	HANDLER(CORE, RANGE_START_A, range_start_a),
	HANDLER(CORE, RANGE_START_W, range_start_w),
	HANDLER(CORE, RANGE_END, nvtx_ranges_end),
	HANDLER(CORE, RANGE_PUSH_EX, range_push_ex),
	HANDLER(CORE, RANGE_PUSH_A, range_push_a),
	HANDLER(CORE, RANGE_PUSH_W, range_push_w),
	HANDLER(CORE, RANGE_POP, range_pop),
	HANDLER(CORE2, DOMAIN_RANGE_START_EX, start_ex),
	HANDLER(CORE2, DOMAIN_RANGE_END, domain_range_end),
	HANDLER(CORE2, DOMAIN_RANGE_PUSH_EX, push_ex),
	HANDLER(CORE2, DOMAIN_RANGE_POP, domain_range_pop),
	HANDLER(CORE2, DOMAIN_REGISTER_STRING_A, register_string_a),
	HANDLER(CORE2, DOMAIN_REGISTER_STRING_W, register_string_w),
	HANDLER(CORE2, DOMAIN_CREATE_A, domain_create_a),
	HANDLER(CORE2, DOMAIN_CREATE_W, domain_create_w),
	HANDLER(CUDA, NAME_CU_STREAM_A, name_stream_a),
	HANDLER(CUDA, NAME_CU_STREAM_W, name_stream_w),
	HANDLER(CUDART, NAME_CUDA_STREAM_A, name_stream_a),
	HANDLER(CUDART, NAME_CUDA_STREAM_W, name_stream_w),
#undef HANDLER
};

static void take_over(const struct nvtx_callbacks *callbacks)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		nvtx_function ***table = NULL;
		unsigned int size = 0;

		/* A function that this NVTX does not have is left out. */
		if (!callbacks->get_module_table(handlers[i].module, &table, &size) || !table ||
		    handlers[i].cbid >= size || !table[handlers[i].cbid])
			continue;
		*table[handlers[i].cbid] = handlers[i].function;
	}
}

int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
	const struct nvtx_callbacks *callbacks = get_export_table(NVTX_ABI_TABLE_CALLBACKS);
	const struct nvtx_version *version = get_export_table(NVTX_ABI_TABLE_VERSION);
	int saved_errno = errno;
	bool taken = false;

	if (callbacks && callbacks->struct_size >= sizeof(*callbacks)) {
		names = program_ranges_on();
		if (names)
			take_over(callbacks);
		taken = names != NULL;
	}
	if (taken && version && version->struct_size >= sizeof(*version))
		version->set_injection_version(VERSION);
	errno = saved_errno;
	return taken;
}

int InitializeInjectionNvtxExtension(const struct nvtx_extension *extension)
{
	return extension && names ? nvtx_payload_take_over(extension) : 0;
}
