#include "metrics_losses.h"

#include "metrics_text.h"

void metrics_losses_write(struct metrics_text *text, const struct metrics_family *family,
			  const uint64_t lost[static LEDGER_REASONS])
{
	metrics_text_family(text, family);
	for (uint32_t i = 0; i < LEDGER_REASONS; i++) {
		const struct metrics_label reason = {"reason", ledger_reason_name(i)};

		if (ledger_reason_class(i) == LEDGER_LOST)
			metrics_text_number(text, &reason, 1, lost[i]);
	}
}
