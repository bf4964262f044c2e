#include "cfi_program.h"

#include "dwarf_reader.h"
#include "unwind_row.h"
#include "unwind_rows.h"

/* Register numbers: System V ABI, AMD64 supplement, "DWARF Register Number Mapping". */
#define RBP 6u
#define RSP 7u
#define RIP 16u

#define REMEMBER_MAX 32u /* compilers nest one or two */
#define WORD         8

/* Opcodes: DWARF 5, 7.24, and GNU's in the Linux Standard Base. */
enum cfi_op {
	CFI_ADVANCE = 0x40, /* in the two upper bits, an operand below */
	CFI_OFFSET = 0x80,
	CFI_RESTORE = 0xc0,
	CFI_OPERAND = 0x3f,
	CFI_NOP = 0x00,
	CFI_SET_LOC = 0x01,
	CFI_ADVANCE_1 = 0x02,
	CFI_ADVANCE_2 = 0x03,
	CFI_ADVANCE_4 = 0x04,
	CFI_OFFSET_EXTENDED = 0x05,
	CFI_RESTORE_EXTENDED = 0x06,
	CFI_UNDEFINED = 0x07,
	CFI_SAME_VALUE = 0x08,
	CFI_REGISTER = 0x09,
	CFI_REMEMBER_STATE = 0x0a,
	CFI_RESTORE_STATE = 0x0b,
	CFI_DEF_CFA = 0x0c,
	CFI_DEF_CFA_REGISTER = 0x0d,
	CFI_DEF_CFA_OFFSET = 0x0e,
	CFI_DEF_CFA_EXPRESSION = 0x0f,
	CFI_EXPRESSION = 0x10,
	CFI_OFFSET_EXTENDED_SF = 0x11,
	CFI_DEF_CFA_SF = 0x12,
	CFI_DEF_CFA_OFFSET_SF = 0x13,
	CFI_VAL_OFFSET = 0x14,
	CFI_VAL_OFFSET_SF = 0x15,
	CFI_VAL_EXPRESSION = 0x16,
	CFI_GNU_ARGS_SIZE = 0x2e,
	CFI_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum expression_op {
	EXPRESSION_DEREF = 0x06,
	EXPRESSION_AND = 0x1a,
	EXPRESSION_PLUS = 0x22,
	EXPRESSION_SHL = 0x24,
	EXPRESSION_GE = 0x2a,
	EXPRESSION_LIT0 = 0x30,
	EXPRESSION_BREG0 = 0x70,
};

enum cfa_form {
	CFA_REGISTER, /* number + offset */
	CFA_MEMORY,   /* *(rbp + offset) */
	CFA_PLT,      /* as the linker writes it for calls into other files */
	CFA_OTHER,
};

enum saved_form {
	SAVED_NOT,
	SAVED_AT_CFA, /* + offset */
	SAVED_AT_RBP, /* + offset, the present rbp */
	SAVED_UNDEFINED,
	SAVED_OTHER,
};

struct saved {
	enum saved_form form;
	int64_t offset;
};

struct state {
	enum cfa_form cfa;
	uint64_t number;
	int64_t offset;
	struct saved rbp, rip;
};

struct machine {
	const struct cfi_common *common;
	struct unwind_rows *rows;
	struct dwarf_reader reader;
	struct state now, initial;
	uint64_t pc, end;
	uint32_t nr_remembered;
	bool broken;
	struct state remembered[REMEMBER_MAX];
};

/* ---- a state as a rule */

static int32_t words(int64_t offset, int32_t low, int32_t high, int32_t otherwise)
{
	if (offset % WORD != 0 || offset / WORD < low || offset / WORD > high)
		return otherwise;
	return (int32_t)(offset / WORD);
}

static int32_t rbp_of(const struct state *state)
{
	const int32_t low = UNWIND_RBP_LOST + 1;
	const struct saved *rbp = &state->rbp;

	switch (rbp->form) {
	case SAVED_NOT:
		return UNWIND_RBP_KEPT;
	case SAVED_AT_CFA:
		return state->cfa == CFA_MEMORY ? UNWIND_RBP_LOST
						: words(rbp->offset, low, -1, UNWIND_RBP_LOST);
	case SAVED_AT_RBP:
		if (state->cfa == CFA_MEMORY)
			return words(rbp->offset, low, INT16_MAX, UNWIND_RBP_LOST);
		if (state->cfa == CFA_REGISTER && state->number == RBP)
			return words((int64_t)((uint64_t)rbp->offset - (uint64_t)state->offset),
				     low, -1, UNWIND_RBP_LOST);
		return UNWIND_RBP_LOST;
	case SAVED_UNDEFINED:
	case SAVED_OTHER:
	default:
		return UNWIND_RBP_LOST;
	}
}

static uint32_t rule_of(const struct state *state)
{
	const uint32_t unsupported = unwind_rule_special(UNWIND_UNSUPPORTED);
	const int32_t none = INT32_MIN, rbp = rbp_of(state);
	int32_t number = none;

	if (state->rip.form == SAVED_UNDEFINED)
		return unwind_rule_special(UNWIND_OUTERMOST);
	if (state->rip.form != SAVED_AT_CFA || state->rip.offset != -WORD)
		return unsupported;
	if (state->cfa == CFA_PLT)
		return unwind_rule(UNWIND_PLT, (int32_t)state->offset, UNWIND_RBP_KEPT);
	if (state->cfa == CFA_MEMORY) {
		number = words(state->offset, -4096, 4095, none);
		return number == none ? unsupported : unwind_rule(UNWIND_RBP_MEMORY, number, rbp);
	}
	if (state->cfa != CFA_REGISTER)
		return unsupported;
	if (state->number == RBP) {
		number = words(state->offset, -4096, 4095, none);
		return number == none ? unsupported : unwind_rule(UNWIND_RBP, number, rbp);
	}
	if (state->number == RSP)
		number = words(state->offset, 1, (int32_t)UNWIND_FAR_MAX, none);
	if (number == none)
		return unsupported;
	return number <= UNWIND_NUMBER_MAX ? unwind_rule(UNWIND_RSP, number, rbp)
					   : unwind_rule_far((uint32_t)number, rbp);
}

static void put(struct machine *machine)
{
	if (machine->rows && machine->pc < machine->end)
		unwind_rows_put(machine->rows, (uint32_t)machine->pc, rule_of(&machine->now));
}

/* ---- expressions: the few shapes that compilers and linkers write */

static struct dwarf_reader take_block(struct machine *machine)
{
	uint64_t size = dwarf_reader_uleb(&machine->reader);
	const uint8_t *bytes = dwarf_reader_bytes(&machine->reader, size);

	return dwarf_reader_on(bytes ? bytes : machine->reader.end, bytes ? (size_t)size : 0, 0);
}

/* rsp + 8 + ((rip & 15) >= n) * 8; n depends on the linker and its options. */
static bool is_plt(struct dwarf_reader block, int64_t *threshold)
{
	static const uint8_t before[] = {EXPRESSION_BREG0 + RSP, 8,
					 EXPRESSION_BREG0 + RIP, 0,
					 EXPRESSION_LIT0 + 15,   EXPRESSION_AND};
	static const uint8_t after[] = {EXPRESSION_GE, EXPRESSION_LIT0 + 3, EXPRESSION_SHL,
					EXPRESSION_PLUS};

	if (dwarf_reader_left(&block) != sizeof(before) + 1 + sizeof(after))
		return false;
	for (size_t i = 0; i < sizeof(before); i++)
		if (dwarf_reader_u8(&block) != before[i])
			return false;
	*threshold = dwarf_reader_u8(&block) - EXPRESSION_LIT0;
	if (*threshold < 0 || *threshold > 15)
		return false;
	for (size_t i = 0; i < sizeof(after); i++)
		if (dwarf_reader_u8(&block) != after[i])
			return false;
	return true;
}

static void set_cfa_expression(struct machine *machine)
{
	struct dwarf_reader block = take_block(machine);
	struct state *now = &machine->now;
	int64_t threshold;

	if (is_plt(block, &threshold)) {
		now->cfa = CFA_PLT;
		now->offset = threshold;
		return;
	}

	uint8_t op = dwarf_reader_u8(&block);
	int64_t offset = dwarf_reader_sleb(&block);
	bool memory = dwarf_reader_left(&block) > 0;
	now->cfa = CFA_OTHER;
	if (memory && (dwarf_reader_u8(&block) != EXPRESSION_DEREF || dwarf_reader_left(&block)))
		return;
	if (block.failed ||
	    (op != EXPRESSION_BREG0 + RBP && (memory || op != EXPRESSION_BREG0 + RSP)))
		return;
	now->cfa = memory ? CFA_MEMORY : CFA_REGISTER;
	now->number = op - EXPRESSION_BREG0;
	now->offset = offset;
}

static struct saved saved_expression(struct machine *machine)
{
	struct dwarf_reader block = take_block(machine);
	uint8_t op = dwarf_reader_u8(&block);
	int64_t offset = dwarf_reader_sleb(&block);

	if (block.failed || dwarf_reader_left(&block) || op != EXPRESSION_BREG0 + RBP)
		return (struct saved){SAVED_OTHER, 0};
	return (struct saved){SAVED_AT_RBP, offset};
}

/* ---- instructions */

static int64_t scaled(const struct machine *machine, uint64_t value)
{
	return (int64_t)(value * (uint64_t)machine->common->data_align);
}

static void set_saved(struct machine *machine, uint64_t number, enum saved_form form,
		      int64_t offset)
{
	const struct saved saved = {form, offset};

	if (number == RBP)
		machine->now.rbp = saved;
	if (number == machine->common->return_column)
		machine->now.rip = saved;
}

static void restore(struct machine *machine, uint64_t number)
{
	if (number == RBP)
		machine->now.rbp = machine->initial.rbp;
	if (number == machine->common->return_column)
		machine->now.rip = machine->initial.rip;
}

static void advance(struct machine *machine, uint64_t delta)
{
	put(machine);
	/* The address stays where it is once it is beyond the end, so that no sum wraps. */
	if (delta > UINT32_MAX || machine->common->code_align > UINT32_MAX ||
	    delta * machine->common->code_align > machine->end - machine->pc)
		machine->pc = machine->end;
	else
		machine->pc += delta * machine->common->code_align;
}

static void remember(struct machine *machine)
{
	if (machine->nr_remembered == REMEMBER_MAX)
		machine->broken = true;
	else
		machine->remembered[machine->nr_remembered++] = machine->now;
}

static void recall(struct machine *machine)
{
	if (machine->nr_remembered == 0)
		machine->broken = true;
	else
		machine->now = machine->remembered[--machine->nr_remembered];
}

/* Returns whether the opcode was one that defines the CFA. */
static bool run_cfa(struct machine *machine, uint8_t op)
{
	struct dwarf_reader *reader = &machine->reader;
	struct state *now = &machine->now;

	switch (op) {
	case CFI_DEF_CFA:
		now->number = dwarf_reader_uleb(reader);
		now->offset = (int64_t)dwarf_reader_uleb(reader);
		break;
	case CFI_DEF_CFA_SF:
		now->number = dwarf_reader_uleb(reader);
		now->offset = scaled(machine, (uint64_t)dwarf_reader_sleb(reader));
		break;
	case CFI_DEF_CFA_REGISTER:
		machine->broken |= now->cfa != CFA_REGISTER;
		now->number = dwarf_reader_uleb(reader);
		break;
	case CFI_DEF_CFA_OFFSET:
		machine->broken |= now->cfa != CFA_REGISTER;
		now->offset = (int64_t)dwarf_reader_uleb(reader);
		break;
	case CFI_DEF_CFA_OFFSET_SF:
		machine->broken |= now->cfa != CFA_REGISTER;
		now->offset = scaled(machine, (uint64_t)dwarf_reader_sleb(reader));
		break;
	case CFI_DEF_CFA_EXPRESSION:
		set_cfa_expression(machine);
		return true;
	default:
		return false;
	}
	now->cfa = CFA_REGISTER;
	return true;
}

/* Returns whether the opcode was one that says where a register was saved. */
static bool run_saved(struct machine *machine, uint8_t op)
{
	struct dwarf_reader *reader = &machine->reader;

	if (op < CFI_OFFSET_EXTENDED ||
	    (op > CFI_VAL_EXPRESSION && op != CFI_GNU_NEGATIVE_OFFSET_EXTENDED))
		return false;

	uint64_t number = dwarf_reader_uleb(reader);
	switch (op) {
	case CFI_OFFSET_EXTENDED:
		set_saved(machine, number, SAVED_AT_CFA,
			  scaled(machine, dwarf_reader_uleb(reader)));
		return true;
	case CFI_OFFSET_EXTENDED_SF:
		set_saved(machine, number, SAVED_AT_CFA,
			  scaled(machine, (uint64_t)dwarf_reader_sleb(reader)));
		return true;
	case CFI_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_saved(machine, number, SAVED_AT_CFA,
			  scaled(machine, 0 - dwarf_reader_uleb(reader)));
		return true;
	case CFI_RESTORE_EXTENDED:
		restore(machine, number);
		return true;
	case CFI_UNDEFINED:
		set_saved(machine, number, SAVED_UNDEFINED, 0);
		return true;
	case CFI_SAME_VALUE:
		set_saved(machine, number, SAVED_NOT, 0);
		return true;
	case CFI_REGISTER:
	case CFI_VAL_OFFSET:
	case CFI_VAL_OFFSET_SF:
		dwarf_reader_uleb(reader); /* signed or not: as many bytes */
		set_saved(machine, number, SAVED_OTHER, 0);
		return true;
	case CFI_EXPRESSION: {
		struct saved saved = saved_expression(machine);

		set_saved(machine, number, saved.form, saved.offset);
		return true;
	}
	case CFI_VAL_EXPRESSION:
		take_block(machine);
		set_saved(machine, number, SAVED_OTHER, 0);
		return true;
	default:
		machine->broken = true;
		return true;
	}
}

static void run_op(struct machine *machine, uint8_t op)
{
	struct dwarf_reader *reader = &machine->reader;

	switch (op & ~CFI_OPERAND) {
	case CFI_ADVANCE:
		advance(machine, op & CFI_OPERAND);
		return;
	case CFI_OFFSET:
		set_saved(machine, op & CFI_OPERAND, SAVED_AT_CFA,
			  scaled(machine, dwarf_reader_uleb(reader)));
		return;
	case CFI_RESTORE:
		restore(machine, op & CFI_OPERAND);
		return;
	default:
		break;
	}
	switch (op) {
	case CFI_NOP:
		return;
	case CFI_ADVANCE_1:
		advance(machine, dwarf_reader_u8(reader));
		return;
	case CFI_ADVANCE_2:
		advance(machine, dwarf_reader_unsigned(reader, 2));
		return;
	case CFI_ADVANCE_4:
		advance(machine, dwarf_reader_unsigned(reader, 4));
		return;
	case CFI_REMEMBER_STATE:
		remember(machine);
		return;
	case CFI_RESTORE_STATE:
		recall(machine);
		return;
	case CFI_GNU_ARGS_SIZE:
		dwarf_reader_uleb(reader);
		return;
	default:
		if (!run_cfa(machine, op) && !run_saved(machine, op))
			machine->broken = true; /* set_loc too: no compiler writes it here */
	}
}

static void run(struct machine *machine, const uint8_t *program, size_t size)
{
	machine->reader = dwarf_reader_on(program, size, 0);
	while (dwarf_reader_left(&machine->reader) && !machine->broken) {
		run_op(machine, dwarf_reader_u8(&machine->reader));
		machine->broken |= machine->reader.failed;
	}
}

void cfi_program_run(const struct cfi_common *common, const uint8_t *program, size_t program_size,
		     uint32_t start, uint32_t end, struct unwind_rows *rows)
{
	struct machine machine;

	/* This sets field by field, because the remembered states are many bytes, and there are many functions. */
	machine.common = common;
	machine.rows = NULL;
	machine.now = (struct state){.cfa = CFA_OTHER};
	machine.pc = start;
	machine.end = end;
	machine.nr_remembered = 0;
	machine.broken = false;
	run(&machine, common->program, common->program_size);
	machine.initial = machine.now;
	machine.pc = start;
	machine.rows = rows;
	run(&machine, program, program_size);
	if (machine.broken && machine.pc < machine.end)
		unwind_rows_put(rows, (uint32_t)machine.pc,
				unwind_rule_special(UNWIND_UNSUPPORTED));
	else
		put(&machine);
}
