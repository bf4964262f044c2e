/* The functions of CUDA's API that are counted: what FLAMEGRID_API names, of those that the mapped CUPTI knows. Filled
 * once, on the thread that loads the guest, and constant afterwards. */
#ifndef API_SELECT_H
#define API_SELECT_H

#include <stdbool.h>
#include <stdint.h>

struct cupti_library;

#define API_SELECT_CBIDS 2048u /* of one API; CUPTI 13.0 has 807 and 523 */
#define API_SELECT_ROWS  2048u /* functions that may be selected */
#define API_SELECT_NONE  UINT32_MAX

struct api_function {
	const char *name; /* borrowed from CUPTI; the first name_size characters */
	uint16_t name_size;
	uint8_t domain; /* enum cupti_domain */
	uint16_t cbid;
};

struct api_select {                         /* zeroed: nothing is selected */
	uint16_t rows[2][API_SELECT_CBIDS]; /* by domain - 1 and cbid: row + 1, 0: not selected */
	uint8_t launches[API_SELECT_CBIDS /
			 8]; /* a bit a driver cbid: the launch callback wants it, too */
	uint32_t nr_functions;
	struct api_function functions[API_SELECT_ROWS];
};

/* Selects by a list of api_options.h that passed its check. record: a set of enum record_option, which decides what the
 * launch callback wants. Returns how many functions were selected; 0 without cuptiGetCallbackName. */
uint32_t api_select_init(struct api_select *select, const struct cupti_library *library,
			 const char *list, uint32_t record);

/* Asks for the callbacks of what is selected, or (enable 0) for no more. What CUPTI refuses stays off. Returns the
 * number that it took. */
uint32_t api_select_enable(const struct api_select *select, const struct cupti_library *library,
			   void *subscriber, uint32_t enable);

/* The row of a function; API_SELECT_NONE: not selected. */
static inline uint32_t api_select_row(const struct api_select *select, uint32_t domain,
				      uint32_t cbid)
{
	/* Row 0 less one is API_SELECT_NONE. */
	return domain - 1 < 2 && cbid < API_SELECT_CBIDS
		       ? (uint32_t)select->rows[domain - 1][cbid] - 1
		       : API_SELECT_NONE;
}

/* Whether a function of the driver is one that the launch callback wants. */
static inline bool api_select_is_launch(const struct api_select *select, uint32_t cbid)
{
	return cbid < API_SELECT_CBIDS && (select->launches[cbid / 8] >> cbid % 8 & 1);
}

#endif
