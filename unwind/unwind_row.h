/* One unwind rule in 32 bits: where the caller's frame lies, seen from a frame's registers. Only
 * rsp, rbp and the return address are followed. CFA: the caller's rsp; the return address is the
 * word below it. Plain data; pure. */
#ifndef UNWIND_ROW_H
#define UNWIND_ROW_H

#include <stdint.h>

/* Valid from pc up to the next row's. */
struct unwind_row {
	uint32_t pc;   /* from the segment's start */
	uint32_t rule; /* made by the functions below */
};

/* The low 3 bits of a rule. The other 13 of the low half are the kind's number, the upper half
 * says where rbp was saved: words from the base, or UNWIND_RBP_*. */
enum unwind_kind {
	UNWIND_SPECIAL,    /* number: enum unwind_special */
	UNWIND_RSP,        /* CFA = rsp + 8 * number; rbp from the CFA */
	UNWIND_RSP_FAR,    /* the same for large frames: see unwind_rule_far() */
	UNWIND_RBP,        /* CFA = rbp + 8 * number, signed; rbp from the CFA */
	UNWIND_RBP_MEMORY, /* CFA = *(rbp + 8 * number), signed; rbp from the present rbp: functions
			      that realign their stack */
	UNWIND_PLT,        /* CFA = rsp + 8, and 8 more where rip % 16 >= number; rbp is kept */
};

enum unwind_special {
	UNWIND_GAP,         /* no function is described here */
	UNWIND_UNSUPPORTED, /* described in a way that these rules cannot say */
	UNWIND_OUTERMOST,   /* there is no caller */
	UNWIND_SIGNAL,      /* the kernel's signal frame: rsp points to a ucontext */
	UNWIND_NO_FILE,     /* code that no file holds; never in a table */
};

#define UNWIND_RBP_KEPT (-32768) /* not saved: the caller's is the present one */
#define UNWIND_RBP_LOST (-32767) /* saved where these rules cannot say */

#define UNWIND_NUMBER_MAX   8191             /* unsigned; signed: -4096 to 4095 */
#define UNWIND_FAR_MAX      ((1u << 25) - 1) /* words */
#define UNWIND_FAR_RBP_LOST 15u

static inline uint32_t unwind_rule(enum unwind_kind kind, int32_t number, int32_t rbp)
{
	return (uint32_t)kind | ((uint32_t)number & UNWIND_NUMBER_MAX) << 3 |
	       (uint32_t)(uint16_t)rbp << 16;
}

static inline uint32_t unwind_rule_special(enum unwind_special special)
{
	return unwind_rule(UNWIND_SPECIAL, (int32_t)special, UNWIND_RBP_KEPT);
}

/* CFA = rsp + 8 * words. The upper half: 12 more bits of the number, then 4 for rbp: 0 kept,
 * 15 lost, else words below the CFA. */
static inline uint32_t unwind_rule_far(uint32_t words, int32_t rbp)
{
	uint32_t saved = UNWIND_FAR_RBP_LOST;

	if (rbp == UNWIND_RBP_KEPT)
		saved = 0;
	else if (rbp < 0 && rbp > -(int32_t)UNWIND_FAR_RBP_LOST)
		saved = (uint32_t)-rbp;
	return (uint32_t)UNWIND_RSP_FAR | (words & UNWIND_NUMBER_MAX) << 3 | (words >> 13) << 20 |
	       saved << 16;
}

static inline enum unwind_kind unwind_rule_kind(uint32_t rule)
{
	return (enum unwind_kind)(rule & 7);
}

static inline uint32_t unwind_rule_number(uint32_t rule)
{
	return (rule >> 3) & UNWIND_NUMBER_MAX;
}

static inline int32_t unwind_rule_signed_number(uint32_t rule)
{
	return (int32_t)(int16_t)(uint16_t)rule >> 3;
}

static inline int32_t unwind_rule_rbp(uint32_t rule)
{
	return (int32_t)rule >> 16;
}

static inline uint32_t unwind_rule_far_words(uint32_t rule)
{
	return unwind_rule_number(rule) | (rule >> 20) << 13;
}

static inline int32_t unwind_rule_far_rbp(uint32_t rule)
{
	uint32_t saved = (rule >> 16) & 15;

	if (saved == 0)
		return UNWIND_RBP_KEPT;
	return saved == UNWIND_FAR_RBP_LOST ? UNWIND_RBP_LOST : -(int32_t)saved;
}

#endif
