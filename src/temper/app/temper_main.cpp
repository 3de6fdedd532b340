#include <iostream>

#include "temper/app/session.h"

int main(int argc, char** argv) { return temper::app::run(argc, argv, std::cout, std::cerr); }
