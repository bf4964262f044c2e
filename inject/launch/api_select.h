/* Selects the functions of CUDA's API that are counted: those that FLAMEGRID_API names and the mapped CUPTI knows. The
 * table is filled once, on the thread that loads the guest, and is constant afterwards. */
#ifndef API_SELECT_H
#define API_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_library;

#define API_SELECT_CBIDS 2048u /* callback ids of one API; CUPTI 13.0 has 807 and 523 */
#define API_SELECT_ROWS  2048u /* functions that may be selected */
#define API_SELECT_NONE  UINT32_MAX

struct api_function {
	const char *name; /* borrowed from CUPTI; the first name_size characters */
	uint16_t name_size;
	uint8_t domain; /* enum cupti_domain */
	uint16_t cbid;
};

struct api_select {                         /* if zeroed, nothing is selected */
	uint16_t rows[2][API_SELECT_CBIDS]; /* by domain - 1 and cbid: row + 1, 0: not selected */
	/* one bit per driver cbid: the launch callback also wants the function */
	uint8_t launches[API_SELECT_CBIDS / 8];
	uint32_t nr_functions;
	struct api_function functions[API_SELECT_ROWS];
};

/* Selects functions by a list of api_options.h that passed its check. record is a set of enum record_option; it decides
 * which functions the launch callback wants. Returns the number of selected functions; 0 without
 * cuptiGetCallbackName. */
uint32_t api_select_init(struct api_select *select, const struct cupti_library *library,
			 const char *list, uint32_t record);

/* Enables the callbacks of the selected functions, or disables them (enable 0). A callback that CUPTI refuses stays
 * off. Returns the number that CUPTI accepted. */
uint32_t api_select_enable(const struct api_select *select, const struct cupti_library *library,
			   void *subscriber, uint32_t enable);

/* Returns the row of a function; API_SELECT_NONE: not selected. */
static inline uint32_t api_select_row(const struct api_select *select, uint32_t domain,
				      uint32_t cbid)
{
	/* Row 0 less one is API_SELECT_NONE. */
	return domain - 1 < 2 && cbid < API_SELECT_CBIDS
		       ? (uint32_t)select->rows[domain - 1][cbid] - 1
		       : API_SELECT_NONE;
}

/* Returns whether the launch callback wants this function of the driver. */
static inline bool api_select_is_launch(const struct api_select *select, uint32_t cbid)
{
	return cbid < API_SELECT_CBIDS && (select->launches[cbid / 8] >> cbid % 8 & 1);
}

#endif
