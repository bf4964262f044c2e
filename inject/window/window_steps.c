#include "window_steps.h"

static bool is_chosen(const struct window_steps *steps, uint64_t number)
{
	uint32_t every = atomic_load_explicit(&steps->every, memory_order_relaxed);

	return every <= 1 || number % every == 0;
}

bool window_steps_begin(struct window_steps *steps)
{
	return is_chosen(steps, atomic_fetch_add(&steps->nr_begun, 1) + 1);
}

bool window_steps_end(struct window_steps *steps)
{
	return is_chosen(steps, atomic_fetch_add(&steps->nr_ended, 1) + 1);
}

bool window_steps_start(struct window_steps *steps)
{
	if (steps->every <= 1)
		return true;
	if (atomic_load(&steps->inside) || !window_steps_begin(steps))
		return false;
	return !atomic_exchange(&steps->inside, true);
}

bool window_steps_stop(struct window_steps *steps)
{
	return steps->every <= 1 || atomic_exchange(&steps->inside, false);
}
