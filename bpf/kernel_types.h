/* Declares the few fields of the kernel's types that the BPF programs read, with the kernel's names and types. The
 * loader finds their offsets in the running kernel's BTF, so that one build fits all kernels. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>

#define TASK_DEAD 0x80u /* state of a thread that leaves its CPU for the last time */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 elements */
};

struct mm_struct {
	unsigned long exec_vm; /* pages of code */
};

struct pt_regs { /* x86_64's */
	unsigned long bp, ip, sp;
	unsigned long ax, di, si, dx, cx, r8, r9;
};

struct thread_struct { /* x86_64's */
	unsigned long fsbase;
};

struct sched_entity {
	__u64 sum_exec_runtime; /* ns */
};

struct task_struct {
	unsigned int __state; /* from Linux 5.14 on */
	int pid, tgid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	__u64 self_exec_id; /* 32 bits before Linux 5.8 */
	char comm[16];
	struct sched_entity se;
	struct thread_struct thread;
};

struct task_struct___before_5_14 {
	long state;
};

#pragma clang attribute pop

/* struct upid as the programs read it. All kernels lay it out alike. */
struct pid_number {
	__s32 number;
	__u32 padding;
	__u64 pid_namespace;
};

#endif
