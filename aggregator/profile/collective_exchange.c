#include "collective_exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A kernel with sends and receives. */
struct kernel {
	struct collective_exchange_kernel of;
	uint32_t correlation_id;
	uint32_t root; /* another kernel of the exchange; of the first one itself */
	/* Of the root, of the whole exchange: */
	bool open;  /* something has not come yet */
	bool wrong; /* its kernels cannot be known */
	bool old;   /* it is not waited for any longer */
	uint32_t nr_kernels, nr_pairs;
	uint64_t sequence; /* of its first call */
	uint32_t nr_sides;
	/* Of the kernel itself: it meets one whose clock does not compare with its own. */
	bool blind;
};

/* A send or receive. */
struct side {
	uint32_t from, to; /* ranks */
	uint64_t number;
	uint32_t entry, kernel;
	bool is_receive;
};

/* Two kernels that exchange something; a < b. */
struct pair {
	uint32_t a, b;
};

struct finding {
	const struct collective_match *match;
	const struct collective_exchange_calls *calls;
	bool all;
	struct kernel *kernels; /* own, as the next two; at most as many as entries */
	struct side *sides;
	struct pair *pairs;
	uint32_t *kernel_of; /* owns; of each entry, + 1 */
	uint32_t nr_kernels, nr_sides, nr_pairs;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static const struct collective_log_call *call_of(const struct finding *finding, uint32_t entry)
{
	return &finding->calls->calls[finding->match->entries[entry].call];
}

static bool is_exchange(const struct collective *call)
{
	return call->function == COLLECTIVE_SEND || call->function == COLLECTIVE_RECV;
}

/* ---- kernels */

static uint32_t root_of(struct finding *finding, uint32_t kernel)
{
	while (finding->kernels[kernel].root != kernel) {
		uint32_t next = finding->kernels[kernel].root;

		finding->kernels[kernel].root = finding->kernels[next].root;
		kernel = next;
	}
	return kernel;
}

static void join(struct finding *finding, uint32_t a, uint32_t b)
{
	a = root_of(finding, a);
	b = root_of(finding, b);
	if (a == b)
		return;
	struct kernel *to = &finding->kernels[a < b ? a : b];
	struct kernel *from = &finding->kernels[a < b ? b : a];

	from->root = to->root;
	to->open |= from->open;
	to->wrong |= from->wrong;
	to->old |= from->old;
}

/* The calls of a plan follow one another in their rank's order, its collectives first. before: the entry before it of
 * the same rank; NULL: none. */
static void add_side(struct finding *finding, uint32_t member, uint32_t entry,
		     const struct collective_log_call *before)
{
	const struct collective_match_member *end = &finding->match->members[member];
	const struct collective_log_call *from = call_of(finding, entry);
	const struct collective *call = &from->call;
	const uint32_t correlation_id = call->correlation_id;
	const bool same = before && correlation_id && before->call.correlation_id == correlation_id;
	const bool is_receive = call->function == COLLECTIVE_RECV;

	if (!same || !is_exchange(&before->call)) {
		finding->kernels[finding->nr_kernels] = (struct kernel){
			.of = {.call = finding->match->entries[entry].call,
			       .member = member,
			       .last_call = COLLECTIVE_EXCHANGE_NONE},
			.correlation_id = correlation_id,
			.sequence = member == 0 ? call->sequence : UINT64_MAX,
			.root = finding->nr_kernels,
			.wrong = same || !correlation_id,
		};
		finding->nr_kernels++;
	}
	struct kernel *kernel = &finding->kernels[finding->nr_kernels - 1];
	kernel->open |= !from->gpu.known && correlation_id;
	kernel->wrong |= !from->gpu.known || !call->function_sequence ||
			 call->peer == COLLECTIVE_NOT_KNOWN || end->rank == COLLECTIVE_NOT_KNOWN ||
			 (same && before->call.sequence + 1 != call->sequence);
	kernel->old |= finding->calls->nr_calls - finding->match->entries[entry].call >
		       finding->calls->waiting_calls;
	finding->kernel_of[entry] = finding->nr_kernels;
	if (call->peer == end->rank)
		return;
	kernel->nr_sides++;
	*(is_receive ? &kernel->of.received_bytes : &kernel->of.sent_bytes) += call->bytes;
	finding->sides[finding->nr_sides++] = (struct side){
		.from = is_receive ? call->peer : end->rank,
		.to = is_receive ? end->rank : call->peer,
		.number = call->function_sequence,
		.entry = entry,
		.kernel = finding->nr_kernels - 1,
		.is_receive = is_receive,
	};
}

/* Further calls of a rank's last kernel may come. */
static void add_member(struct finding *finding, uint32_t member)
{
	const struct collective_match *match = finding->match;
	const uint32_t first = match->members[member].begin, kernels = finding->nr_kernels;
	const struct collective_log_call *before = NULL;
	uint32_t end = first + 1;

	while (end < match->nr_entries &&
	       collective_match_same_end(&match->entries[end], &match->entries[first]))
		end++;
	for (uint32_t i = first; i < end; i++) {
		const struct collective_log_call *call = call_of(finding, i);

		if (is_exchange(&call->call)) {
			add_side(finding, member, i, before);
			finding->kernels[finding->nr_kernels - 1].old |=
				end - i > finding->calls->waiting;
		}
		before = call;
	}
	if (finding->nr_kernels > kernels && is_exchange(&before->call))
		finding->kernels[finding->nr_kernels - 1].open = true;
}

/* ---- pairs */

static int by_call(const void *a, const void *b)
{
	const struct side *x = a, *y = b;
	int order = compare(x->from, y->from);

	if (!order)
		order = compare(x->to, y->to);
	if (!order)
		order = compare(x->number, y->number);
	if (!order)
		order = compare(x->is_receive, y->is_receive);
	return order ? order : compare(x->entry, y->entry);
}

static int by_kernels(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = compare(x->a, y->a);

	return order ? order : compare(x->b, y->b);
}

static bool same_call(const struct side *a, const struct side *b)
{
	return a->from == b->from && a->to == b->to && a->number == b->number;
}

static void add_pair(struct finding *finding, uint32_t a, uint32_t b)
{
	finding->pairs[finding->nr_pairs++] = (struct pair){a < b ? a : b, a < b ? b : a};
	join(finding, a, b);
}

static void join_sides(struct finding *finding)
{
	const struct side *sides = finding->sides;

	for (uint32_t i = 0, end; i < finding->nr_sides; i = end) {
		for (end = i + 1; end < finding->nr_sides && same_call(&sides[i], &sides[end]);
		     end++)
			;
		for (uint32_t j = i; j + 1 < end; j++)
			add_pair(finding, sides[j].kernel, sides[j + 1].kernel);
		struct kernel *root = &finding->kernels[root_of(finding, sides[i].kernel)];
		root->open |= end - i < 2;
		root->wrong |= end - i > 2 || sides[i].is_receive == sides[end - 1].is_receive;
	}
}

int64_t collective_exchange_begin(const struct collective_log_call *call)
{
	return (int64_t)(call->gpu.start_ns + (uint64_t)call->gpu.clock_offset_ns);
}

/* Notes that a kernel meets another one. */
static void meet(struct finding *finding, uint32_t kernel, uint32_t other)
{
	const struct collective_log_call *calls = finding->calls->calls;
	struct kernel *own = &finding->kernels[kernel];
	const uint32_t met = finding->kernels[other].of.call, last = own->of.last_call;
	const struct collective_log_call *a = &calls[own->of.call], *b = &calls[met];

	if (!a->gpu.clock_known || !b->gpu.clock_known ||
	    finding->calls->hosts[a->process] != finding->calls->hosts[b->process])
		own->blind = true;
	else if (last == COLLECTIVE_EXCHANGE_NONE ||
		 collective_exchange_begin(b) > collective_exchange_begin(&calls[last]))
		own->of.last_call = met;
}

/* Counts kernels, and pairs that differ, of each exchange. */
static void count(struct finding *finding)
{
	const struct pair *pairs = finding->pairs;

	for (uint32_t i = 0; i < finding->nr_kernels; i++)
		finding->kernels[root_of(finding, i)].nr_kernels++;
	for (uint32_t i = 0; i < finding->nr_pairs; i++) {
		if (i > 0 && !by_kernels(&pairs[i], &pairs[i - 1]))
			continue;
		finding->kernels[root_of(finding, pairs[i].a)].nr_pairs++;
		meet(finding, pairs[i].a, pairs[i].b);
		meet(finding, pairs[i].b, pairs[i].a);
	}
}

/* ---- the result */

static bool is_known(const struct kernel *root)
{
	return !root->open && !root->wrong && root->nr_kernels > 1;
}

/* Returns whether each kernel meets each other one. */
static bool is_whole(const struct kernel *root)
{
	const uint64_t count = root->nr_kernels;

	return root->nr_pairs == count * (count - 1) / 2;
}

static bool is_of_all(const struct finding *finding, const struct kernel *root)
{
	return is_known(root) && is_whole(root) && root->nr_kernels >= COLLECTIVE_EXCHANGE_ALL &&
	       root->nr_kernels == finding->calls->nr_ranks;
}

/* Each of its kernels must meet those of all other ranks. */
static bool is_maybe_of_all(const struct finding *finding, const struct kernel *root)
{
	return finding->calls->nr_ranks >= COLLECTIVE_EXCHANGE_ALL &&
	       root->nr_sides + 1 >= finding->calls->nr_ranks;
}

static int by_exchange(const void *a, const void *b)
{
	const struct collective_exchange_kernel *x = a, *y = b;
	int order = compare(x->exchange, y->exchange);

	return order ? order : compare(x->member, y->member);
}

/* Roots are the first kernels of the first members. So exchanges are in the order of the first member's calls, and
 * those without the first member come last. */
static void take_exchanges(struct finding *finding, struct collective_exchanges *found)
{
	found->nr_exchanges = finding->nr_kernels;
	for (uint32_t i = 0; i < finding->nr_kernels; i++) {
		const struct kernel *root = &finding->kernels[i];

		found->exchanges[i] = (struct collective_exchange){
			.sequence = root->sequence,
			.old = root->old,
			.whole = is_known(root) && is_whole(root),
			.all = is_of_all(finding, root),
			.maybe_all = is_maybe_of_all(finding, root),
			.held = root->root == i && root->open && !root->old && !finding->all,
		};
	}
}

static void take(struct finding *finding, struct collective_exchanges *found)
{
	take_exchanges(finding, found);
	for (uint32_t i = 0; i < finding->match->nr_entries; i++)
		found->exchange_of[i] = finding->kernel_of[i]
						? root_of(finding, finding->kernel_of[i] - 1)
						: COLLECTIVE_EXCHANGE_NONE;
	for (uint32_t i = 0; i < finding->nr_kernels; i++) {
		const uint32_t root = root_of(finding, i);
		struct collective_exchange_kernel *kernel = &found->kernels[found->nr_kernels];

		if (!is_known(&finding->kernels[root]))
			continue;
		found->nr_kernels++;
		*kernel = finding->kernels[i].of;
		kernel->exchange = root;
		if (finding->kernels[i].blind)
			kernel->last_call = COLLECTIVE_EXCHANGE_NONE;
	}
	qsort(found->kernels, found->nr_kernels, sizeof(*found->kernels), by_exchange);
}

static int reserve(struct finding *finding, struct collective_exchanges *found)
{
	const size_t count = finding->match->nr_entries + 1ul;

	found->exchange_of = calloc(count, sizeof(*found->exchange_of));
	found->exchanges = calloc(count, sizeof(*found->exchanges));
	found->kernels = calloc(count, sizeof(*found->kernels));
	finding->kernels = calloc(count, sizeof(*finding->kernels));
	finding->sides = calloc(count, sizeof(*finding->sides));
	finding->pairs = calloc(count, sizeof(*finding->pairs));
	finding->kernel_of = calloc(count, sizeof(*finding->kernel_of));
	return found->exchange_of && found->exchanges && found->kernels && finding->kernels &&
			       finding->sides && finding->pairs && finding->kernel_of
		       ? 0
		       : -ENOMEM;
}

int collective_exchange_find(const struct collective_match *match,
			     const struct collective_exchange_calls *calls, bool all,
			     struct collective_exchanges *found)
{
	struct finding finding = {.match = match, .calls = calls, .all = all};

	*found = (struct collective_exchanges){0};
	int error = reserve(&finding, found);
	for (uint32_t i = 0; i < match->nr_members && !error; i++)
		add_member(&finding, i);
	if (!error) {
		if (all) /* nothing more comes */
			for (uint32_t i = 0; i < finding.nr_kernels; i++)
				finding.kernels[i].open = false;
		qsort(finding.sides, finding.nr_sides, sizeof(*finding.sides), by_call);
		join_sides(&finding);
		qsort(finding.pairs, finding.nr_pairs, sizeof(*finding.pairs), by_kernels);
		count(&finding);
		take(&finding, found);
	}
	free(finding.kernels);
	free(finding.sides);
	free(finding.pairs);
	free(finding.kernel_of);
	return error;
}

void collective_exchange_fini(struct collective_exchanges *exchanges)
{
	free(exchanges->exchange_of);
	free(exchanges->exchanges);
	free(exchanges->kernels);
	*exchanges = (struct collective_exchanges){0};
}

/* ---- folded */

struct collective_sum *collective_folding_sum(const struct collective_folding *folding,
					      uint32_t index, bool is_across)
{
	const struct collective_log_call *from = &folding->calls[index];
	const struct collective *call = &from->call;
	const struct collective_sum_key key = {
		.process = from->process,
		.communicator_id = call->communicator_id,
		.tid = call->tid,
		.function = call->function,
		.size_class = call->bytes ? 64 - (uint32_t)__builtin_clzll(call->bytes) : 0,
		.is_across = is_across,
	};

	return collective_folds_sum(folding->folds, &key);
}

int collective_folding_count(struct collective_sum *sum, uint64_t waited_ns, bool is_last,
			     const struct collective_fold_waits *waits)
{
	const struct collective_bin behind = {collective_bin_of(waits->behind_ns), 1,
					      waits->behind_ns};

	sum->used++;
	sum->waited_ns += waited_ns;
	if (!is_last)
		return 0;
	sum->last++;
	sum->others_ns += waits->waited_ns;
	return collective_bins_add(&sum->behind, &sum->nr_behind, &behind);
}

static void widen(uint64_t from_ns, uint64_t to_ns, uint64_t *start_ns, uint64_t *end_ns)
{
	if (!*end_ns || from_ns < *start_ns)
		*start_ns = from_ns;
	if (to_ns > *end_ns)
		*end_ns = to_ns;
}

void collective_folding_extend(struct collective_fold_member *member,
			       const struct collective_log_call *call)
{
	widen(call->call.start_ns, call->call.start_ns + call->call.duration_ns, &member->start_ns,
	      &member->end_ns);
	if (call->gpu.known)
		widen(call->gpu.start_ns, call->gpu.start_ns + call->gpu.ns, &member->gpu_start_ns,
		      &member->gpu_end_ns);
}

/* A wait for a kernel that began later. Returns false: it has begun after this one's end, so the clocks are wrong. */
static bool wait_of(const struct collective_log_call *call, const struct collective_log_call *last,
		    uint64_t *wait_ns)
{
	/* A forged clock may be any number. */
	const int64_t behind_ns = (int64_t)((uint64_t)collective_exchange_begin(last) -
					    (uint64_t)collective_exchange_begin(call));

	*wait_ns = 0;
	if (behind_ns <= COLLECTIVE_FOLDS_CLOCK_NS)
		return true;
	*wait_ns = (uint64_t)behind_ns < call->gpu.ns ? (uint64_t)behind_ns : call->gpu.ns;
	return (uint64_t)behind_ns - *wait_ns <= COLLECTIVE_FOLDS_CLOCK_NS;
}

/* Splits a kernel that does not meet all others of its exchange, by when those that it meets began. */
static int split_by_begin(struct collective_folding *folding,
			  const struct collective_exchange_kernel *kernel,
			  const struct collective_split_end *end)
{
	uint64_t wait_ns;

	if (kernel->last_call == COLLECTIVE_EXCHANGE_NONE)
		return 0;
	const struct collective_log_call *call = &folding->calls[kernel->call];
	const struct collective_log_call *last = &folding->calls[kernel->last_call];
	const struct collective_split_end last_end = {
		.key = collective_split_key_of(last->process, &last->gpu)};
	return wait_of(call, last, &wait_ns)
		       ? collective_splits_add_one(&folding->folds->splits, end, &last_end, wait_ns)
		       : 0;
}

/* Splits the kernels of an exchange, which are its first count ones. */
static int split_exchange(struct collective_folding *folding, const struct collective_fold *fold,
			  const struct collective_exchange_kernel *kernels, uint32_t count,
			  bool whole)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const struct collective_exchange_kernel *kernel = &kernels[i];
		const struct collective_log_call *call = &folding->calls[kernel->call];
		const struct collective_fold_member *member =
			&fold->members[folding->at[kernel->member]];
		const struct collective_split_end end = {
			.key = collective_split_key_of(call->process, &call->gpu),
			.ns = call->gpu.ns,
			.bus_bytes = kernel->sent_bytes > kernel->received_bytes
					     ? kernel->sent_bytes
					     : kernel->received_bytes,
			.left_out = !call->gpu.total_known ||
				    call->gpu.start_ns + call->gpu.ns <= member->gpu_end_ns,
		};

		/* A whole exchange has one kernel of each rank. */
		if (whole)
			folding->ends[i] = end;
		else
			error = split_by_begin(folding, kernel, &end);
	}
	return error || !whole
		       ? error
		       : collective_splits_add(&folding->folds->splits, folding->ends, count);
}

/* Compares an exchange of all ranks, which is an all_to_all; kernels: one of each member. */
static int compare_exchange(struct collective_folding *folding, struct collective_fold *fold,
			    const struct collective_exchange_kernel *kernels)
{
	struct collective_fold_waits waits;

	for (uint32_t i = 0; i < fold->nr_members; i++)
		folding->times[folding->at[kernels[i].member]] =
			folding->calls[kernels[i].call].gpu.ns;
	collective_fold_compare(fold, folding->times, folding->order, &waits);
	fold->collectives++;
	fold->complete +=
		fold->nr_ranks == COLLECTIVE_NOT_KNOWN || fold->nr_members >= fold->nr_ranks;
	fold->by_gpu++;
	for (uint32_t i = 0; i < fold->nr_members; i++) {
		const uint32_t at = folding->at[kernels[i].member], call = kernels[i].call;
		struct collective_sum *sum =
			collective_folding_sum(folding, call, fold->writer == 0);

		if (!sum || collective_folding_count(sum, folding->times[at] - waits.least_ns,
						     at == waits.last, &waits))
			return -ENOMEM;
		collective_folding_extend(&fold->members[at], &folding->calls[call]);
	}
	return 0;
}

uint64_t collective_exchange_held_from(const struct collective_exchanges *exchanges)
{
	uint64_t sequence = UINT64_MAX;

	for (uint32_t i = 0; i < exchanges->nr_exchanges; i++) {
		const struct collective_exchange *exchange = &exchanges->exchanges[i];

		if (exchange->held && exchange->maybe_all && exchange->sequence < sequence)
			sequence = exchange->sequence;
	}
	return sequence;
}

/* Returns the number of kernels from `first` on that are of one exchange. */
static uint32_t count_kernels(const struct collective_exchanges *exchanges, uint32_t first)
{
	const struct collective_exchange_kernel *kernels = &exchanges->kernels[first];
	uint32_t count = 1;

	while (first + count < exchanges->nr_kernels &&
	       kernels[count].exchange == kernels->exchange)
		count++;
	return count;
}

int collective_exchange_split(struct collective_folding *folding,
			      const struct collective_fold *fold,
			      const struct collective_exchanges *exchanges)
{
	int error = 0;

	for (uint32_t i = 0, count; i < exchanges->nr_kernels && !error; i += count) {
		const struct collective_exchange_kernel *kernels = &exchanges->kernels[i];
		const struct collective_exchange *exchange =
			&exchanges->exchanges[kernels->exchange];

		count = count_kernels(exchanges, i);
		if (!exchange->all)
			error = split_exchange(folding, fold, kernels, count, exchange->whole);
	}
	return error;
}

int collective_exchange_compare(struct collective_folding *folding, struct collective_fold *fold,
				struct collective_exchanges *exchanges, uint64_t sequence)
{
	int error = 0;

	while (exchanges->nr_compared < exchanges->nr_kernels && !error) {
		const uint32_t first = exchanges->nr_compared;
		const struct collective_exchange_kernel *kernels = &exchanges->kernels[first];
		const struct collective_exchange *exchange =
			&exchanges->exchanges[kernels->exchange];

		if (sequence != UINT64_MAX && exchange->sequence > sequence)
			break;
		exchanges->nr_compared += count_kernels(exchanges, first);
		if (!exchange->all || exchange->held)
			continue;
		error = split_exchange(folding, fold, kernels, fold->nr_members, true);
		if (!error)
			error = compare_exchange(folding, fold, kernels);
	}
	return error;
}

void collective_exchange_hold(struct collective_exchanges *exchanges)
{
	for (uint32_t i = exchanges->nr_compared; i < exchanges->nr_kernels; i++) {
		struct collective_exchange *exchange =
			&exchanges->exchanges[exchanges->kernels[i].exchange];

		exchange->held = exchange->all && !exchange->old;
	}
}
