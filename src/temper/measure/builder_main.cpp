// temper-builder: the process that compiles candidates. Started by Temper; not for people.
#include "temper/measure/builder_loop.h"
#include "temper/measure/compile_function.h"

int main(int argc, char** argv) {
  return temper::measure::builder_main(argc, argv, temper::measure::make_compile_function());
}
