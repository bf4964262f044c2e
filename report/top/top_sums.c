#include "top_sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/record.h"
#include "report/model/kind_name.h"
#include "report/model/report_tree.h"
#include "report/names/text_line.h"

void top_sums_destroy(struct top_sums *sums)
{
	if (!sums)
		return;
	hash_index_fini(&sums->index);
	array_free_texts(sums->texts, sums->nr_texts);
	free(sums->nodes);
	free(sums);
}

bool top_sums_is_same(const struct top_sums *sums, const struct top_sums *other)
{
	return memcmp(sums->writer, other->writer, sizeof(sums->writer)) == 0;
}

/* ---- what came between two readings */

#define DELIVERY_NS 1000000000ull

static const struct top_node nothing;

static void remember(struct top_node *node)
{
	const double part = (double)node->rates[TOP_BUSY] / (double)node->rate_ns;

	if (node->nr_history == TOP_SUMS_HISTORY) {
		memmove(node->history, node->history + 1, TOP_SUMS_HISTORY - 1);
		node->nr_history--;
	}
	node->history[node->nr_history++] = part < 1 ? (uint8_t)(part * 100 + 0.5) : 100;
}

static void keep(struct top_node *node, const struct top_node *last)
{
	node->rate_ns = last->rate_ns;
	node->rate_gpus = last->rate_gpus;
	memcpy(node->rates, last->rates, sizeof(node->rates));
}

static void subtract(struct top_node *node, const struct top_node *last, uint64_t rate_ns,
		     uint32_t rate_gpus)
{
	node->rate_ns = rate_ns;
	node->rate_gpus = rate_gpus;
	for (uint32_t i = 0; i < TOP_VALUES; i++)
		node->rates[i] =
			node->values[i] > last->values[i] ? node->values[i] - last->values[i] : 0;
	/* It is known later than the kernels what they waited. */
	if (node->rates[TOP_WAITS] > node->rates[TOP_NCCL])
		node->rates[TOP_WAITS] = node->rates[TOP_NCCL];
}

static bool has_work(const struct top_node *gpu, const struct top_node *last)
{
	return gpu->values[TOP_RECORDS] > last->values[TOP_RECORDS] ||
	       gpu->values[TOP_BUSY] > last->values[TOP_BUSY];
}

/* The time that news of a GPU stand for. Work is delivered up to DELIVERY_NS after its end, so the time from one
 * reading's last work to the other's says more than the time between the messages, as far as the two agree. */
static uint64_t time_since(const struct top_node *gpu, const struct top_node *last)
{
	const uint64_t heard_ns = gpu->heard_ns - last->heard_ns;
	const uint64_t least_ns = heard_ns > DELIVERY_NS ? heard_ns - DELIVERY_NS : 0;
	const uint64_t busy_ns = gpu->values[TOP_BUSY] > last->values[TOP_BUSY]
					 ? gpu->values[TOP_BUSY] - last->values[TOP_BUSY]
					 : 0;
	uint64_t work_ns = gpu->last_ns > last->last_ns ? gpu->last_ns - last->last_ns : 0;

	if (!last->last_ns)
		return gpu->window_ns;
	if (!has_work(gpu, last))
		return heard_ns;
	work_ns = work_ns < least_ns ? least_ns : work_ns;
	work_ns = work_ns > heard_ns + DELIVERY_NS ? heard_ns + DELIVERY_NS : work_ns;
	return work_ns > busy_ns ? work_ns : busy_ns;
}

/* Returns whether a message tells of the GPU's work, or that it has none. */
static bool is_news(struct top_node *gpu, const struct top_node *last)
{
	if (!last)
		return true;
	if (has_work(gpu, last))
		return true;
	gpu->quiet_ns = last->quiet_ns +
			(gpu->heard_ns > last->heard_ns ? gpu->heard_ns - last->heard_ns : 0);
	return gpu->heard_ns > last->heard_ns && gpu->quiet_ns > 2 * DELIVERY_NS;
}

static const struct top_node *find_last(const struct top_sums *last, const struct top_node *node)
{
	const uint32_t at = top_sums_find(last, node->key);

	return at == TOP_SUMS_NONE ? NULL : &last->nodes[at];
}

/* Returns whether there are news of it; they are added to *news. */
static bool follow_gpu(struct top_node *gpu, const struct top_sums *last, struct top_node *news)
{
	const struct top_node *before = find_last(last, gpu);

	if (before) {
		memcpy(gpu->history, before->history, sizeof(gpu->history));
		gpu->nr_history = before->nr_history;
	}
	if (!is_news(gpu, before)) {
		keep(gpu, before);
		return false;
	}
	const uint64_t rate_ns = time_since(gpu, before ? before : &nothing);

	subtract(gpu, before ? before : &nothing, rate_ns, 1);
	news->rate_ns += rate_ns;
	news->rate_gpus++;
	if (rate_ns)
		remember(gpu);
	return true;
}

/* A stream or a kernel. What is new since the last reading had no work then, unless nobody looked. */
static void follow_inner(struct top_node *node, const struct top_node *parent, bool is_new,
			 bool was_told, const struct top_sums *last)
{
	const struct top_node *before = find_last(last, node);

	if (!is_new && before)
		keep(node, before);
	else if (is_new && (before || was_told))
		subtract(node, before ? before : &nothing, parent->rate_ns, parent->rate_gpus);
}

static void follow_stream(struct top_sums *sums, struct top_node *stream, bool is_new,
			  const struct top_sums *last)
{
	const struct top_node *before = find_last(last, stream);
	const bool was_told = before ? before->is_told : stream->is_told;

	follow_inner(stream, &sums->nodes[stream->parent], is_new, true, last);
	for (uint32_t i = stream->first; i != TOP_SUMS_NONE; i = sums->nodes[i].next)
		follow_inner(&sums->nodes[i], &sums->nodes[stream->parent], is_new, was_told, last);
}

static void add_rates(struct top_node *outer, const struct top_node *inner)
{
	outer->rate_ns += inner->rate_ns;
	outer->rate_gpus += inner->rate_gpus;
	for (uint32_t i = 0; i < TOP_VALUES; i++)
		outer->rates[i] += inner->rates[i];
}

static void follow_rank(struct top_sums *sums, struct top_node *rank, const struct top_sums *last,
			struct top_node *news)
{
	const struct top_node *before = find_last(last, rank);
	bool has_news = false;

	if (before) {
		memcpy(rank->history, before->history, sizeof(rank->history));
		rank->nr_history = before->nr_history;
	}
	for (uint32_t i = rank->first; i != TOP_SUMS_NONE; i = sums->nodes[i].next) {
		struct top_node *gpu = &sums->nodes[i];
		const bool is_new = follow_gpu(gpu, last, news);

		for (uint32_t j = gpu->first; j != TOP_SUMS_NONE; j = sums->nodes[j].next)
			follow_stream(sums, &sums->nodes[j], is_new, last);
		has_news |= is_new;
		if (gpu->is_running)
			add_rates(rank, gpu);
	}
	if (has_news && rank->rate_ns)
		remember(rank);
}

void top_sums_follow(struct top_sums *sums, const struct top_sums *last)
{
	struct top_node *all = &sums->nodes[0];
	const struct top_node *before = &last->nodes[0];
	struct top_node news = {.rate_ns = 0};

	memcpy(all->history, before->history, sizeof(all->history));
	all->nr_history = before->nr_history;
	for (uint32_t i = all->first; i != TOP_SUMS_NONE; i = sums->nodes[i].next) {
		if (sums->nodes[i].level != TOP_RANK)
			continue;
		follow_rank(sums, &sums->nodes[i], last, &news);
		add_rates(all, &sums->nodes[i]);
	}
	if (news.rate_ns && all->rate_ns)
		remember(all);
	/* Of all ranks' kernels those came that ranks with news had. */
	for (uint32_t i = all->first; i != TOP_SUMS_NONE; i = sums->nodes[i].next)
		if (sums->nodes[i].level == TOP_KERNEL)
			follow_inner(&sums->nodes[i], &news, news.rate_ns > 0, true, last);
}

/* ---- names */

static void label_stream(const struct top_node *node, char *label, size_t size)
{
	text_line_append(label, size, "stream %" PRIu32 "%s%s%s", node->stream_id,
			 *node->name ? " (" : "", node->name, *node->name ? ")" : "");
}

static void label_kernel(const struct top_node *node, char *label, size_t size)
{
	const char *detail = kind_name_detail(node->kind, node->copy_kind);

	if (node->kind == RECORD_GPU_KERNEL)
		text_line_append(label, size, "%s", *node->name ? node->name : "(no name)");
	else
		text_line_append(label, size, "%s%s%s", kind_name_leaf(node->kind),
				 *detail ? " " : "", detail);
}

const char *top_sums_label(const struct top_node *node, char *label, size_t size)
{
	*label = '\0';
	switch (node->level) {
	case TOP_ALL:
		text_line_append(label, size, "all ranks");
		break;
	case TOP_RANK:
		if (node->rank == REPORT_RANK_NONE)
			text_line_append(label, size, "pid %" PRIu32, node->pid);
		else
			text_line_append(label, size, "rank %" PRId32, node->rank);
		break;
	case TOP_GPU:
		if (node->gpu == REPORT_GPU_NONE)
			text_line_append(label, size, "GPU ?");
		else
			text_line_append(label, size, "GPU %" PRId32, node->gpu);
		break;
	case TOP_STREAM:
		label_stream(node, label, size);
		break;
	case TOP_KERNEL:
		label_kernel(node, label, size);
		break;
	}
	return label;
}
