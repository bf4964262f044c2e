#include "api_select.h"

#include <stddef.h>
#include <string.h>

#include "launch_cbid.h"

#include "inject/cupti/cupti_library.h"
#include "proto/options/api_options.h"

/* CUPTI's names of the runtime's functions end in the version that last changed them, as in cudaMalloc_v3020. The
 * driver's _v2 and _v3 are functions of their own, which a program names. */
static size_t size_without_version(uint32_t domain, const char *name)
{
	size_t size = strlen(name), digits = 0;

	if (domain != CUPTI_ABI_DOMAIN_RUNTIME)
		return size;
	while (digits < size && name[size - digits - 1] >= '0' && name[size - digits - 1] <= '9')
		digits++;
	if (digits < 4 || size < digits + 3 || name[size - digits - 1] != 'v' ||
	    name[size - digits - 2] != '_')
		return size;
	return size - digits - 2;
}

static bool is_wanted(const char *list, uint32_t domain, const char *name, size_t size)
{
	char short_name[256];

	if (api_options_match(list, (enum api_domain)domain, name))
		return true;
	if (size >= sizeof(short_name) || name[size] == '\0')
		return false;
	memcpy(short_name, name, size);
	short_name[size] = '\0';
	return api_options_match(list, (enum api_domain)domain, short_name);
}

static void select_domain(struct api_select *select, const struct cupti_library *library,
			  const char *list, uint32_t domain)
{
	/* Number 0 is no function. */
	for (uint32_t cbid = 1; cbid < API_SELECT_CBIDS; cbid++) {
		const char *name = NULL;

		if (library->get_callback_name(domain, cbid, &name) != CUPTI_ABI_SUCCESS || !name)
			continue;
		size_t size = size_without_version(domain, name);
		if (size == 0 || size > UINT16_MAX || !is_wanted(list, domain, name, size) ||
		    select->nr_functions == API_SELECT_ROWS)
			continue;
		select->functions[select->nr_functions++] =
			(struct api_function){.name = name,
					      .name_size = (uint16_t)size,
					      .domain = (uint8_t)domain,
					      .cbid = (uint16_t)cbid};
		select->rows[domain - 1][cbid] = (uint16_t)select->nr_functions;
	}
}

uint32_t api_select_init(struct api_select *select, const struct cupti_library *library,
			 const char *list, uint32_t record)
{
	memset(select, 0, sizeof(*select));
	if (!library->get_callback_name || !list || *list == '\0')
		return 0;
	for (uint32_t i = 0; i < LAUNCH_CBIDS; i++) {
		uint32_t cbid = launch_cbids[i].cbid;

		if (!launch_cbids[i].option || launch_cbids[i].option & record)
			select->launches[cbid / 8] |= (uint8_t)(1u << cbid % 8);
	}
	select_domain(select, library, list, CUPTI_ABI_DOMAIN_DRIVER);
	select_domain(select, library, list, CUPTI_ABI_DOMAIN_RUNTIME);
	return select->nr_functions;
}

uint32_t api_select_enable(const struct api_select *select, const struct cupti_library *library,
			   void *subscriber, uint32_t enable)
{
	uint32_t nr_enabled = 0;

	for (uint32_t i = 0; i < select->nr_functions; i++)
		nr_enabled +=
			library->enable_callback(enable, subscriber, select->functions[i].domain,
						 select->functions[i].cbid) == CUPTI_ABI_SUCCESS;
	return nr_enabled;
}
