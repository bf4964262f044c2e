/* Functions whose names are looked up. Compiled without optimisation, so that each keeps its own
 * code. */

int fixture_global(int argument);
int fixture_weak(int argument);
int _fixture_alias(int argument);

static __attribute__((used, noinline)) int fixture_local(int argument)
{
	return argument * 3;
}

int fixture_global(int argument)
{
	return fixture_local(argument) + 1;
}

__attribute__((weak)) int fixture_weak(int argument)
{
	return argument - 1;
}

int _fixture_alias(int argument) __attribute__((alias("fixture_global")));

/* A function without a size, with a gap behind it. */
__asm__(".text\n"
	".globl fixture_sizeless\n"
	".type fixture_sizeless, @function\n"
	".balign 64\n"
	"fixture_sizeless:\n"
	".skip 64, 0x90\n");

/* A function at the last address of all, which none can be. */
__asm__(".globl fixture_last\n"
	".type fixture_last, @function\n"
	".set fixture_last, 0xffffffffffffffff\n");
