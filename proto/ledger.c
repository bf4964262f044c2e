#include "ledger.h"

static const struct {
	const char *name, *text;
	enum ledger_class class;
} reasons[LEDGER_REASONS] = {
	[LEDGER_LAUNCHES] = {"launches", "launch calls seen", LEDGER_PRODUCED},
	[LEDGER_LAUNCH_RING_FULL] = {"launch_ring_full", "launches lost: launch lane full",
				     LEDGER_LOST},
	[LEDGER_LAUNCH_NO_LANE] = {"launch_no_lane",
				   "launches lost: more launching threads than lanes", LEDGER_LOST},
	[LEDGER_LAUNCH_FAILED] = {"launch_failed", "launch calls that returned an error",
				  LEDGER_NOTED},
	[LEDGER_STACK_TABLE_FULL] = {"stack_table_full",
				     "launches without a stack: stack table full", LEDGER_NOTED},
	[LEDGER_RECORDS] = {"records", "GPU records delivered by CUPTI", LEDGER_PRODUCED},
	[LEDGER_RECORD_RING_FULL] = {"record_ring_full", "GPU records lost: activity lane full",
				     LEDGER_LOST},
	[LEDGER_INVALID_TIME] = {"invalid_time",
				 "GPU records left out: their times are zero or reversed",
				 LEDGER_LOST},
	[LEDGER_STILL_RUNNING] = {"still_running",
				  "GPU records left out: still running when the process ended",
				  LEDGER_LOST},
	[LEDGER_CUPTI_DROPPED] = {"cupti_dropped", "GPU records dropped by CUPTI", LEDGER_LOST},
	[LEDGER_UNKNOWN_RECORD] = {"unknown_record", "records of a kind that was not asked for",
				   LEDGER_NOTED},
	[LEDGER_BUFFER_EXHAUSTED] = {"buffer_exhausted",
				     "buffers that CUPTI filled in vain: none was free",
				     LEDGER_LOST},
	[LEDGER_NAME_LOST] = {"name_lost", "GPU records without their kernel's name", LEDGER_NOTED},
	[LEDGER_UNTRUSTED_RING] = {"untrusted_ring",
				   "records given up: the process's memory made no sense",
				   LEDGER_LOST},
	[LEDGER_UNCLEAN_END] = {"unclean_end",
				"processes that ended without a goodbye: their last records "
				"may be missing",
				LEDGER_ENDS},
	[LEDGER_LAUNCH_EXPIRED] =
		{"launch_expired",
		 "launches for which no GPU record came (none does for launches captured into a "
		 "graph, nor for copies of no bytes)",
		 LEDGER_NOTED},
	[LEDGER_UNMATCHED_RECORD] = {"unmatched_record",
				     "GPU records under [unknown stack]: no launch came",
				     LEDGER_NOTED},
	[LEDGER_MODULE_LOST] = {"module_lost",
				"loaded files that could not be announced: frames without names",
				LEDGER_NOTED},
	[LEDGER_STACK_PARTIAL] = {"stack_partial",
				  "launches with native frames missing: unwind table not ready",
				  LEDGER_NOTED},
	[LEDGER_STACK_STALE] = {"stack_stale",
				"launches that may have an unloaded file's names: another file "
				"had come to its place",
				LEDGER_NOTED},
	[LEDGER_STACK_NO_ROOT] = {"stack_no_root",
				  "launches with native frames missing: no usable unwind rules",
				  LEDGER_NOTED},
	[LEDGER_STACK_TRUNCATED] =
		{"stack_truncated",
		 "stacks cut at the depth cap: outer frames are missing, times are exact",
		 LEDGER_NOTED},
	[LEDGER_STACK_MISMATCH] = {"stack_mismatch",
				   "stacks whose native and Python frames do not interleave",
				   LEDGER_NOTED},
	[LEDGER_PYTHON_OFF] = {"python_off", "stacks whose Python frames cannot be read",
			       LEDGER_NOTED},
	[LEDGER_CODE_TABLE_FULL] = {"code_table_full",
				    "stacks with an unnamed Python frame: code table full",
				    LEDGER_NOTED},
	[LEDGER_CAPTURE_UNKNOWN] = {"capture_unknown",
				    "records of graph nodes without the stack that captured them",
				    LEDGER_NOTED},
	[LEDGER_OUTSIDE_WINDOW] =
		{"outside_window",
		 "GPU records that were not wanted: launched after the end of a capture window",
		 LEDGER_NOTED},
	[LEDGER_NO_DEVICE] = {"no_device", "host waits and the like whose GPU is not known",
			      LEDGER_NOTED},
	[LEDGER_CAPTURE_WINDOW] = {"capture_window",
				   "capture windows: totals are theirs, not those of the run",
				   LEDGER_NOTED},
	[LEDGER_STATISTIC_LOST] =
		{"statistic_lost",
		 "CUDA calls and kernels that their own tables lack: no room; GPU times "
		 "have them",
		 LEDGER_NOTED},
	[LEDGER_FREE_UNKNOWN] = {"free_unknown", "frees of memory whose allocation was not seen",
				 LEDGER_NOTED},
	[LEDGER_MEMORY_INEXACT] = {"memory_inexact",
				   "memory records that the account of live memory left out",
				   LEDGER_LOST},
	[LEDGER_NVTX_NAME_LOST] = {"nvtx_name_lost",
				   "launches under an NVTX range whose name found no room",
				   LEDGER_NOTED},
	[LEDGER_ACTIVITY_TAKEN] = {"activity_taken",
				   "launches without GPU records: another profiler had them",
				   LEDGER_LOST},
	[LEDGER_SAMPLES] = {"samples", "samples of host threads", LEDGER_PRODUCED},
	[LEDGER_SAMPLE_RING_FULL] =
		{"sample_ring_full",
		 "samples of host threads lost: the kernel had no room for them", LEDGER_LOST},
	[LEDGER_SAMPLE_NO_STACK] = {"sample_no_stack",
				    "samples of host threads whose stack could not be read",
				    LEDGER_NOTED},
	[LEDGER_WAIT_SHORT] = {"wait_short", "waits that were too short to be sampled",
			       LEDGER_NOTED},
	[LEDGER_PROBE_LOST] = {"probe_lost",
			       "launches without their stack: the kernel had no room for it",
			       LEDGER_NOTED},
	[LEDGER_COLLECTIVES] = {"collectives", "calls of a collective library", LEDGER_PRODUCED},
	[LEDGER_COLLECTIVE_LOST] =
		{"collective_lost",
		 "calls of a collective library lost: no room on their way to the agent",
		 LEDGER_LOST},
	[LEDGER_LAUNCH_UNDELIVERED] =
		{"launch_undelivered",
		 "launches without GPU records: CUPTI had them when the process, or its "
		 "recording, had to end",
		 LEDGER_LOST},
	[LEDGER_GUEST_GAVE_UP] = {"guest_gave_up",
				  "processes recorded in part: no agent answered them in a minute",
				  LEDGER_ENDS},
	[LEDGER_STACK_HURRIED] = {"stack_hurried",
				  "samples of host threads with their innermost function alone: "
				  "the agent had no time",
				  LEDGER_NOTED},
	[LEDGER_INTERRUPTED_END] =
		{"interrupted_end",
		 "processes that Ctrl-C (SIGINT) ended: their last records may be missing",
		 LEDGER_ENDS},
	[LEDGER_TERMINATED_END] =
		{"terminated_end",
		 "processes that SIGTERM or SIGHUP ended: their last records may be missing",
		 LEDGER_ENDS},
	[LEDGER_ROWS_MERGED] = {"rows_merged",
				"GPU records shown without stack, name and stream: their process "
				"has too many different ones",
				LEDGER_NOTED},
	[LEDGER_CUT_OFF] = {"cut_off", "processes that ran on when their recording was cut off",
			    LEDGER_ENDS},
	[LEDGER_NAME_LIMIT] = {"name_limit",
			       "GPU records shown as [a name too many]: their user has too many "
			       "different names",
			       LEDGER_NOTED},
	[LEDGER_KERNEL_UNJOINED] = {"kernel_unjoined",
				    "kernels of collectives whose call had not come when too many "
				    "others had: such a call has no GPU time",
				    LEDGER_NOTED},
	[LEDGER_BEHIND] = {"behind", "times that the aggregator was behind", LEDGER_NOTED},
	[LEDGER_ORIGIN_UNKNOWN] = {"origin_unknown",
				   "launches of a backward pass whose forward line is not known",
				   LEDGER_NOTED},
	[LEDGER_METER] = {"meter", "calls that metered calls stand for", LEDGER_COST},
	[LEDGER_METER_ENTRY] = {"meter_entry", "calls metered: the guest's entry", LEDGER_COST},
	[LEDGER_METER_NATIVE] = {"meter_native", "calls metered: native frames", LEDGER_COST},
	[LEDGER_METER_PYTHON] = {"meter_python", "calls metered: Python frames", LEDGER_COST},
	[LEDGER_METER_INTERN] = {"meter_intern", "calls metered: look-up of the stack",
				 LEDGER_COST},
	[LEDGER_METER_EXIT] = {"meter_exit", "calls metered: the guest's exit", LEDGER_COST},
	[LEDGER_METER_OUTLIER] = {"meter_outlier", "calls metered that were interrupted",
				  LEDGER_COST},
	[LEDGER_METER_STACKS] = {"meter_stacks", "new stacks, all metered", LEDGER_COST},
	[LEDGER_METER_THREADS] = {"meter_threads", "launching threads that the meter saw",
				  LEDGER_COST},
	[LEDGER_METER_TABLES] = {"meter_tables", "bytes of unwind tables that processes built",
				 LEDGER_COST},
	[LEDGER_METER_FLUSHES] = {"meter_flushes", "flushes of CUPTI's records", LEDGER_COST},
	[LEDGER_METER_BUFFERS] = {"meter_buffers", "buffers of GPU records converted", LEDGER_COST},
	[LEDGER_METER_WINDOWS] = {"meter_windows", "attempts to end a capture window", LEDGER_COST},
	[LEDGER_METER_AGENT] = {"meter_agent", "bytes of memory of the agents' programs at most",
				LEDGER_COST},
	[LEDGER_METER_AGENT_RUN] = {"meter_agent_run", "agents that told their cost", LEDGER_COST},
	[LEDGER_LESS_PYTHON] = {"less_python", "launches with Python frames alone, for --max-cost",
				LEDGER_NOTED},
	[LEDGER_LESS_LEAF] = {"less_leaf", "launches with one frame alone, for --max-cost",
			      LEDGER_NOTED},
	[LEDGER_LESS_NONE] = {"less_none", "launches without a stack, for --max-cost",
			      LEDGER_NOTED},
	[LEDGER_KERNEL_SAMPLES] = {"kernel_samples", "samples of running kernels", LEDGER_PRODUCED},
	[LEDGER_KERNEL_SAMPLE_OTHER] = {"kernel_sample_other",
					"samples of kernels that are not the program's",
					LEDGER_NOTED},
	[LEDGER_KERNEL_SAMPLE_LOST] = {"kernel_sample_lost", "samples of running kernels lost",
				       LEDGER_LOST},
	[LEDGER_GPU_CODE_LOST] =
		{"gpu_code_lost",
		 "modules of GPU code without source lines: no room or time, or damaged",
		 LEDGER_NOTED},
	[LEDGER_KERNEL_SAMPLE_NO_CODE] =
		{"kernel_sample_no_code",
		 "samples of kernels without code (it was loaded before the "
		 "attach, or has not come whole)",
		 LEDGER_NOTED},
	[LEDGER_EXACT_SAMPLES] = {"exact_samples", "samples of exact windows", LEDGER_PRODUCED},
	[LEDGER_EXACT_SAMPLE_OTHER] =
		{"exact_sample_other",
		 "samples of exact windows of kernels that are not the program's", LEDGER_NOTED},
	[LEDGER_EXACT_SAMPLE_LOST] = {"exact_sample_lost", "samples of exact windows lost",
				      LEDGER_LOST},
	[LEDGER_EXACT_SAMPLE_NO_LAUNCH] = {"exact_sample_no_launch",
					   "samples of exact windows whose launch is not known",
					   LEDGER_NOTED},
	[LEDGER_EXACT_WINDOWS] = {"exact_windows", "exact windows: kernels ran one by one in them",
				  LEDGER_NOTED},
	[LEDGER_METRIC_LAUNCHES] = {"metric_launches", "launches and ranges measured",
				    LEDGER_PRODUCED},
	[LEDGER_METRIC_SHARED] = {"metric_shared",
				  "measurements dropped, because other work ran beside them",
				  LEDGER_NOTED},
	[LEDGER_METRIC_LOST] = {"metric_lost", "measurements lost", LEDGER_LOST},
	[LEDGER_METER_BUSIEST] =
		{"meter_busiest",
		 "calls that metered calls stand for, of the thread that paid most", LEDGER_COST},
	[LEDGER_METER_BUSIEST_THREAD] = {"meter_busiest_thread",
					 "new stacks of the thread that paid most", LEDGER_COST},
	[LEDGER_METER_WALL] = {"meter_wall", "processes that launched", LEDGER_COST},
	[LEDGER_METRIC_REFUSED] =
		{"metric_refused",
		 "launches or ranges that could not be measured, as beside captures, "
		 "NCCL's kernels or another range",
		 LEDGER_NOTED},
	[LEDGER_KERNEL_SAMPLE_NO_LINES] =
		{"kernel_sample_no_lines",
		 "samples of kernels without source lines, whose names found no room",
		 LEDGER_NOTED},
	[LEDGER_KERNEL_SAMPLE_NO_PLACE] =
		{"kernel_sample_no_place",
		 "samples of kernels without a place in them, which found no room", LEDGER_LOST},
	[LEDGER_LAUNCH_GIVEN_UP] =
		{"launch_given_up",
		 "launches given up before their GPU records came, which are under [unknown stack]",
		 LEDGER_LOST},
};

static int is_known(uint32_t reason)
{
	return reason < LEDGER_REASONS && reason != LEDGER_UNUSED;
}

const char *ledger_reason_name(uint32_t reason)
{
	return is_known(reason) ? reasons[reason].name : "unknown";
}

const char *ledger_reason_text(uint32_t reason)
{
	return is_known(reason) ? reasons[reason].text : "a reason that this version does not know";
}

enum ledger_class ledger_reason_class(uint32_t reason)
{
	return is_known(reason) ? reasons[reason].class : LEDGER_NOTED;
}
