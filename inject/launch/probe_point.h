/* Makes a USDT probe: one instruction that does nothing, and a note for tracers beside the code. The note says where
 * the instruction is, which counter is above 0 while a tracer watches, and where the arguments are. It has the form of
 * SystemTap's sys/sdt.h (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation), which a machine need not
 * have.
 *
 * From Linux 6.18 on x86-64 a watched 5-byte nop becomes a call, which pushes. So code that holds a probe must be
 * compiled with -mno-red-zone. Otherwise the variables of a leaf function are overwritten
 * (tests/node-agent/red_zone_test.c). */
#ifndef PROBE_POINT_H
#define PROBE_POINT_H

#if defined(__x86_64__)
/* It is aligned so that it lies in one page. A nop across two pages stays a breakpoint, which is slow. */
#define PROBE_POINT_NOP ".balign 8\n990:\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#else
#define PROBE_POINT_NOP "990:\tnop\n"
#endif

/* The instruction and its note. semaphore: an unsigned short in section ".probes". arguments: "SIZE@OPERAND ..." in the
 * assembler's notation of operands. In an asm statement with operands, write %% for a %. */
#define PROBE_POINT(provider, name, semaphore, arguments)                                          \
	PROBE_POINT_NOP                                                                            \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                             \
	"\t.balign 4\n"                                                                            \
	"\t.4byte 992f - 991f, 994f - 993f, 3\n"                                                   \
	"991:\t.asciz \"stapsdt\"\n"                                                               \
	"992:\t.balign 4\n"                                                                        \
	"993:\t.8byte 990b, _.stapsdt.base, " semaphore "\n"                                       \
	"\t.asciz \"" provider "\"\n"                                                              \
	"\t.asciz \"" name "\"\n"                                                                  \
	"\t.asciz \"" arguments "\"\n"                                                             \
	"994:\t.balign 4\n"                                                                        \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base:\t.space 1\n"                                                              \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

/* The kernel counts it up while a tracer watches. It must lie in the file, and stay writable. */
#define PROBE_POINT_SEMAPHORE __attribute__((section(".probes"), visibility("hidden"), used))

#endif
