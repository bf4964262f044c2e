/* Functions inlined in each other, with labels in them, and the lines where things are: what a test
 * needs to check what it finds. Built with optimisation and debug information. */

int inline_fixture_outer(int argument);
int inline_fixture_hidden_call(int argument);

extern const int inline_fixture_mark_line, inline_fixture_inner_call_line,
	inline_fixture_middle_call_line, inline_fixture_hidden_line;

static volatile int sink;

enum { INNER_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) int inner(int argument)
{
	__asm__ volatile(".globl inline_fixture_mark\ninline_fixture_mark: nop" ::"r"(argument));
	return argument * 3;
}

enum { MIDDLE_LINE = __LINE__ + 4 };
static inline __attribute__((always_inline)) int middle(int argument)
{
	sink = argument;
	return inner(argument + 1) - 7;
}

enum { OUTER_LINE = __LINE__ + 4 };
__attribute__((noinline)) int inline_fixture_outer(int argument)
{
	sink = argument + 1;
	int result = middle(argument);
	sink = result;
	return result + sink;
}

enum { HIDDEN_LINE = __LINE__ + 3 };
static __attribute__((noinline)) int hidden(int argument)
{
	__asm__ volatile(".globl inline_fixture_hidden_mark\ninline_fixture_hidden_mark: nop" ::"r"(
		argument));
	sink = argument;
	return sink ^ 5;
}

int inline_fixture_hidden_call(int argument)
{
	return hidden(argument) + 1;
}

const int inline_fixture_mark_line = INNER_LINE;
const int inline_fixture_inner_call_line = MIDDLE_LINE;
const int inline_fixture_middle_call_line = OUTER_LINE;
const int inline_fixture_hidden_line = HIDDEN_LINE;
