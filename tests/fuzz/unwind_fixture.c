/* A library with unwind rules of all kinds, for elf_fuzz: those that compilers write, and those that they could. */

/* Calls through the linker's table, for which it writes rules of its own. */
int unwind_fixture_missing(void);
int unwind_fixture_call(void);
int unwind_fixture_call(void)
{
	return unwind_fixture_missing() + 1;
}

#define FUNCTION(name, rules)                                                                                              \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ": .cfi_startproc\n nop\n" rules             \
		" nop\n ret\n .cfi_endproc\n .size " #name ", . - " #name "\n")

/* A frame that is realigned: its caller's is found in memory; and one that is found by a register or by what nobody
 * writes. */
FUNCTION(unwind_fixture_realigned, ".cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n nop\n .cfi_escape 0x10, 6, 2, 0x76, 0\n");
FUNCTION(unwind_fixture_register, ".cfi_escape 0x0f, 2, 0x77, 16\n nop\n .cfi_escape 0x0f, 2, 0x76, 16\n nop\n"
				  ".cfi_escape 0x0f, 2, 0x73, 16\n nop\n .cfi_escape 0x0f, 3, 0x76, 0x78, 0x12\n"
				  ".cfi_escape 0x10, 6, 2, 0x77, 0\n");
FUNCTION(unwind_fixture_table, ".cfi_escape 0x0f, 0x0b, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n nop\n"
			       ".cfi_escape 0x0f, 0x0b, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x90, 0x2a, 0x33, 0x24, 0x22\n nop\n"
			       ".cfi_escape 0x0f, 0x0b, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x23\n nop\n"
			       ".cfi_escape 0x0f, 0x0b, 0x77, 9, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22\n");
FUNCTION(unwind_fixture_states, ".cfi_remember_state\n .cfi_def_cfa rbp, 16\n .cfi_offset rbp, -16\n nop\n"
				".cfi_restore rbp\n nop\n .cfi_restore_state\n nop\n .cfi_restore_state\n");
FUNCTION(unwind_fixture_deep, ".cfi_remember_state\n .cfi_remember_state\n .cfi_remember_state\n .cfi_remember_state\n"
			      ".cfi_remember_state\n .cfi_remember_state\n .cfi_remember_state\n .cfi_remember_state\n"
			      ".cfi_remember_state\n .cfi_remember_state\n");
FUNCTION(unwind_fixture_saved, ".cfi_same_value rbp\n nop\n .cfi_register rbp, rbx\n nop\n .cfi_escape 0x14, 6, 2\n nop\n"
			       ".cfi_escape 0x05, 6, 2\n nop\n .cfi_escape 0x11, 6, 0x7e\n nop\n .cfi_escape 0x2f, 6, 2\n nop\n"
			       ".cfi_escape 0x06, 6\n nop\n .cfi_escape 0x16, 6, 1, 0x30\n nop\n .cfi_escape 0x15, 6, 2\n nop\n"
			       ".cfi_escape 0x2e, 8\n nop\n .cfi_undefined rip\n");
FUNCTION(unwind_fixture_cfa, ".cfi_escape 0x12, 7, 0x7e\n nop\n .cfi_escape 0x13, 0x7e\n nop\n .cfi_def_cfa_offset 1048576\n nop\n"
			     ".cfi_def_cfa_register rbx\n nop\n .cfi_def_cfa rsp, 13\n nop\n .cfi_offset rbp, -13\n");
FUNCTION(unwind_fixture_signal, ".cfi_signal_frame\n");
FUNCTION(unwind_fixture_personal, ".cfi_personality 0x1b, unwind_fixture_local\n .cfi_lsda 0x1b, unwind_fixture_local\n unwind_fixture_local:\n");

/* The C library's return from a signal handler. */
__asm__(".text\n nop\n.globl unwind_fixture_return\n.type unwind_fixture_return, @function\n"
	"unwind_fixture_return: .cfi_startproc\n .cfi_signal_frame\n mov $15, %rax\n syscall\n .cfi_endproc\n"
	".size unwind_fixture_return, . - unwind_fixture_return\n");
