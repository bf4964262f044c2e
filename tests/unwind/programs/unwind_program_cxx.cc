#include "unwind_program.h"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE      __attribute__((noinline))
#define KEEP(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

namespace
{

struct call {
	uint64_t seed;
	uint32_t depth;
	void go() const
	{
		program_go(seed, depth);
	}
};

/* Calls on while the exception passes. */
struct calls_in_destructor {
	call onward;
	explicit calls_in_destructor(const call &from) : onward(from)
	{
	}
	~calls_in_destructor()
	{
		onward.go();
		KEEP(this);
	}
};

struct calls_when_copied : std::runtime_error {
	call onward;
	explicit calls_when_copied(const call &from) : std::runtime_error("copied"), onward(from)
	{
	}
	calls_when_copied(const calls_when_copied &other)
	    : std::runtime_error(other), onward(other.onward)
	{
		onward.go();
		KEEP(this);
	}
};

NOINLINE void throw_from(int levels, const std::string &text)
{
	std::vector<std::string> alive(2, text);

	if (levels == 0)
		throw std::runtime_error(text);
	throw_from(levels - 1, text + "x");
	KEEP(&alive);
}

NOINLINE void in_catch(const call &onward)
{
	try {
		throw_from((int)(onward.seed % 4), "thrown");
	} catch (const std::exception &error) {
		onward.go();
		KEEP(&error);
	}
}

NOINLINE void throw_past_destructor(const call &onward)
{
	calls_in_destructor object(onward);

	throw_from(1, "passing");
	KEEP(&object);
}

NOINLINE void in_destructor(const call &onward)
{
	try {
		throw_past_destructor(onward);
	} catch (...) {
		KEEP(&onward);
	}
}

NOINLINE void in_nested_catch(const call &onward)
{
	try {
		try {
			throw_from(1, "inner");
		} catch (...) {
			KEEP(&onward);
			throw;
		}
	} catch (const std::runtime_error &) {
		try {
			throw 5;
		} catch (int value) {
			onward.go();
			KEEP(value);
		}
	}
}

NOINLINE void in_copy(const call &onward)
{
	const calls_when_copied original(onward);

	try {
		throw original;
	} catch (const calls_when_copied &copy) {
		KEEP(&copy);
	}
}

struct shape {
	virtual ~shape() = default;
	virtual void visit(const call &onward) = 0;
};

struct square : shape {
	void visit(const call &onward) override
	{
		onward.go();
		KEEP(this);
	}
};

NOINLINE void through_virtual(const call &onward)
{
	std::unique_ptr<shape> object(new square);

	object->visit(onward);
}

NOINLINE void through_function(const call &onward)
{
	std::string text(onward.seed % 40, 'x');
	std::function<void()> function = [&] {
		onward.go();
		KEEP(text.data());
	};

	function();
	KEEP(&function);
}

} // namespace

void program_go_cxx(uint64_t seed, uint32_t depth)
{
	static void (*const kinds[])(const call &) = {
		in_catch, in_destructor,   in_nested_catch,
		in_copy,  through_virtual, through_function,
	};
	const call onward = {seed, depth};

	kinds[(seed >> 32) % (sizeof(kinds) / sizeof(kinds[0]))](onward);
	KEEP(&onward);
}
