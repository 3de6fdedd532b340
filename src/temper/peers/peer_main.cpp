// temper-peer: serves one native library on descriptor 3. Started by `Peer`, not by people.
//   temper-peer LIBRARY FILE THREADS      LIBRARY is onednn or openblas, FILE what dlopen is given
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "temper/peers/serve.h"

int main(int argc, char** argv) {
  using temper::peers::NativeLibrary;
  const std::map<std::string, std::function<std::unique_ptr<NativeLibrary>(const std::string&, int)>> libraries{
      {"onednn", temper::peers::open_onednn}, {"openblas", temper::peers::open_openblas}};
  const auto library = argc == 4 ? libraries.find(argv[1]) : libraries.end();
  const int threads = argc == 4 ? std::atoi(argv[3]) : 0;
  if (library == libraries.end() || threads < 1) {
    std::fputs("usage: temper-peer onednn|openblas FILE THREADS, with a channel on descriptor 3\n", stderr);
    return 2;
  }
  constexpr int kChannel = 3;
  try {
    const temper::peers::Channel channel(kChannel);
    temper::peers::exit_with_parent(kChannel);
    temper::peers::serve(channel, [&] { return library->second(argv[2], threads); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
