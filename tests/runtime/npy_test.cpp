#include "temper/runtime/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "runtime/temporary_folder.h"
#include "temper/runtime/plan.h"
#include "temper/support/error.h"

namespace temper::runtime {
namespace {

using temper::testing::TemporaryFolder;

/// A file as NumPy writes it: magic, version, header length, header, data.
std::string npy_text(int version, std::string header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text +=
      {static_cast<char>(version), 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  if (version > 1) text += std::string(2, '\0');
  return text + header + data;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

ErrorCode code_of(const std::filesystem::path& path) {
  try {
    read_npy(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), path.string());
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::Internal;
}

TEST(Npy, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  for (int dtype = TEMPER_F32; dtype <= TEMPER_BOOL; ++dtype) {
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{}, {3}, {2, 3}, {0, 4}, {1, 1, 5, 1}}) {
      const auto type = static_cast<temper_dtype>(dtype);
      std::vector<std::byte> data(static_cast<std::size_t>(element_bytes(type) * element_count(shape)));
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
      write_npy(folder / "a.npy", type, shape, data);
      EXPECT_EQ((std::filesystem::file_size(folder / "a.npy") - data.size()) % 64, 0u) << "data start aligned";
      const NpyArray array = read_npy(folder / "a.npy");
      EXPECT_EQ(array.dtype, type);
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(array.data, data);
    }
  }
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const TemporaryFolder folder;
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  for (const int version : {1, 2, 3}) {
    write(folder / "a.npy", npy_text(version, header, std::string("\1\0\0\0\2\0\0\0", 8)));
    const NpyArray array = read_npy(folder / "a.npy");
    EXPECT_EQ(array.shape, std::vector<std::int64_t>{2});
    std::array<std::int32_t, 2> values;
    std::memcpy(values.data(), array.data.data(), 8);
    EXPECT_EQ(values, (std::array<std::int32_t, 2>{1, 2}));
  }
}

TEST(Npy, ExplainsWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto path = folder / "a.npy";
  EXPECT_EQ(code_of(folder / "missing.npy"), ErrorCode::NotFound);
  struct Case {
    std::string text;
    ErrorCode code;
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  const std::vector<Case> cases{
      {"", ErrorCode::InvalidArgument},
      {"PK\3\4 something else", ErrorCode::InvalidArgument},
      {npy_text(9, good, "abcd"), ErrorCode::InvalidArgument},
      {npy_text(1, good, "abc"), ErrorCode::InvalidArgument},
      {npy_text(1, good, "abcde"), ErrorCode::InvalidArgument},
      {npy_text(1, good, "").substr(0, 30), ErrorCode::InvalidArgument},
      {npy_text(1, "{}", ""), ErrorCode::InvalidArgument},
      {npy_text(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", ""), ErrorCode::InvalidArgument},
      {npy_text(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", ""),
       ErrorCode::InvalidArgument},
      {npy_text(1, "{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", ""), ErrorCode::InvalidArgument},
      {npy_text(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd"), ErrorCode::Unsupported},
      {npy_text(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", "ab"), ErrorCode::Unsupported},
      {npy_text(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "abcd"), ErrorCode::Unsupported},
  };
  for (const Case& c : cases) {
    write(path, c.text);
    EXPECT_EQ(code_of(path), c.code) << c.text;
  }
}

}  // namespace
}  // namespace temper::runtime
