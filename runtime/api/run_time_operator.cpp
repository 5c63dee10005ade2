#include "runtime/api/run_time_operator.h"

#include <string.h>

#include <new>

#include "runtime/core/memory.h"
#include "runtime/core/program.h"

namespace trimtab {
namespace {

constexpr size_t kMaxOperators = 32;
constexpr size_t kMaxAttributes = 32;
constexpr size_t kSlotBytes = 16;  // of a decoded attribute: a list is the largest
constexpr size_t kFirstOperatorBytes = offsetof(trimtab_operator, destroy) + sizeof(void*);
constexpr uint32_t kTypeBits = 0xFE;  // TRIMTAB_F32 to TRIMTAB_BOOL
constexpr uint32_t kMaskBits = 0xFF;  // inputs that a row's masks cover

struct AttributeKind {
  const char* name;
  AttributeType engine;
  int32_t type;
};
constexpr AttributeKind kKinds[] = {
    {"int", AttributeType::kInt, TRIMTAB_INT},
    {"float", AttributeType::kFloat, TRIMTAB_FLOAT},
    {"bool", AttributeType::kBool, TRIMTAB_INT},
    {"ints", AttributeType::kInts, TRIMTAB_INTS},
    {"floats", AttributeType::kFloats, TRIMTAB_FLOATS},
};

struct Declared {
  char name[48];
  const AttributeKind* kind;
};

// A registered operator, and everything that its row points to.
struct Registered {
  trimtab_operator declaration;  // complete: members that a smaller struct lacks are zero
  const Origin* origin;
  uint32_t uses;
  OperatorRow row;
  OperatorFactory factory;
  const OperatorFactory* factories[1];
  AttributeField fields[kMaxAttributes];
  Declared attributes[kMaxAttributes];
};
Registered* registered[kMaxOperators];

class RunTimeOperator final : public Operator {
 public:
  // Attributes are decoded to the memory after the object.
  explicit RunTimeOperator(Registered* row) : Operator(this + 1), row_(row) { ++row->uses; }

  void Run(ThreadPool& /*pool*/) override {
    for (int i = 0; i < input_count(); ++i) {
      if (has_input(i)) Point(input(i), &operands_[i]);
    }
    for (int i = 0; i < output_count(); ++i) Point(output(i), &operands_[input_count() + i]);
    call_.scratch = scratch<uint8_t>();
    row_->declaration.run(&call_);
  }

  void Release() {
    if (row_->declaration.destroy != nullptr) row_->declaration.destroy(&call_);
    tables_.Release();
    --row_->uses;
  }

 private:
  static void Point(const Tensor& tensor, trimtab_operand* operand) {
    operand->data = tensor.raw;
    operand->bytes = tensor.bytes;
  }

  static Status ToStatus(const char* what) {
    return what == nullptr ? Status() : Status(Code::kBadProgram, what);
  }
  Status Call(trimtab_check check) { return check ? ToStatus(check(&call_)) : Status(); }

  Status InferShape() override;
  Status Prepare() override;
  Status SetUp();
  Status SetUpAttributes();

  Registered* const row_;
  trimtab_call call_ = {};
  trimtab_operand* operands_ = nullptr;  // null until SetUp
  Memory tables_;
};

Status RunTimeOperator::SetUpAttributes() {
  const uint32_t count = row_->row.field_count;
  trimtab_attribute* values = nullptr;
  const trimtab_attribute** pointers = nullptr;
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(count, &values));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(count, &pointers));
  const auto* decoded = reinterpret_cast<const uint8_t*>(this + 1);
  for (uint32_t i = 0; i < count; ++i, decoded += kSlotBytes) {
    trimtab_attribute& value = values[i];
    value.struct_size = sizeof(value);
    value.name = row_->attributes[i].name;
    value.type = row_->attributes[i].kind->type;
    IntList ints;
    FloatList floats;
    switch (row_->attributes[i].kind->engine) {
      case AttributeType::kInts:
        memcpy(&ints, decoded, sizeof(ints));
        value.ints = ints.data;
        value.count = ints.size;
        break;
      case AttributeType::kFloats:
        memcpy(&floats, decoded, sizeof(floats));
        value.floats = floats.data;
        value.count = floats.size;
        break;
      case AttributeType::kFloat:
        memcpy(&value.f, decoded, sizeof(value.f));
        break;
      case AttributeType::kBool:
        value.i = *decoded;
        break;
      default:
        memcpy(&value.i, decoded, sizeof(value.i));
    }
    pointers[i] = &value;
  }
  call_.attributes = pointers;
  call_.attribute_count = count;
  return Status();
}

Status RunTimeOperator::SetUp() {
  const size_t count = static_cast<size_t>(input_count() + output_count());
  trimtab_operand** pointers = nullptr;
  TRIMTAB_RETURN_IF_ERROR(SetUpAttributes());
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(count, &pointers));
  TRIMTAB_RETURN_IF_ERROR(tables_.Take(count, &operands_));
  for (size_t i = 0; i < count; ++i) {
    const int index = static_cast<int>(i);
    operands_[i].struct_size = sizeof(trimtab_operand);
    if (index >= input_count() || has_input(index)) pointers[i] = &operands_[i];
  }
  call_.struct_size = sizeof(call_);
  call_.context = row_->declaration.context;
  call_.inputs = pointers;
  call_.outputs = pointers + input_count();
  call_.input_count = static_cast<uint32_t>(input_count());
  call_.output_count = static_cast<uint32_t>(output_count());
  return Call(row_->declaration.set_up);
}

Status RunTimeOperator::InferShape() {
  if (operands_ == nullptr) TRIMTAB_RETURN_IF_ERROR(SetUp());
  for (int i = 0; i < input_count() + output_count(); ++i) {
    if (i < input_count() && !has_input(i)) continue;
    const Tensor& tensor = i < input_count() ? input(i) : output(i - input_count());
    trimtab_operand& operand = operands_[i];
    operand.data = nullptr;
    operand.bytes = 0;
    operand.rank = i < input_count() ? tensor.dims.rank : 0;
    memcpy(operand.dims, tensor.dims.d, sizeof(operand.dims));
    operand.dtype = static_cast<int32_t>(tensor.dtype);
    operand.layout = static_cast<int32_t>(tensor.layout);
  }
  TRIMTAB_RETURN_IF_ERROR(Call(row_->declaration.shape));
  for (int i = 0; i < output_count(); ++i) {
    const trimtab_operand& operand = operands_[input_count() + i];
    TRIMTAB_CHECK(operand.rank >= 0 && operand.rank <= Dims::kMaxRank,
                  "a plug-in's output has more than 8 dimensions (its index)", i);
    TRIMTAB_CHECK(operand.dtype >= TRIMTAB_F32 && operand.dtype <= TRIMTAB_BOOL,
                  "a plug-in's output has no known element type (its index)", i);
    output(i).dims.rank = operand.rank;
    memcpy(output(i).dims.d, operand.dims, sizeof(operand.dims));
    output(i).dtype = static_cast<DType>(operand.dtype);
    if (operand.rank != 4) output(i).layout = Layout::kPlain;
  }
  return Status();
}

Status RunTimeOperator::Prepare() {
  for (int i = 0; i < input_count() && i < 8; ++i) {
    if (has_input(i) && (row_->row.constant_mask >> i & 1) != 0) Point(input(i), &operands_[i]);
  }
  call_.scratch_bytes = 0;
  TRIMTAB_RETURN_IF_ERROR(Call(row_->declaration.prepare));
  return RequestScratch(call_.scratch_bytes);
}

// A factory has no argument for its row, so each row has its own factory.
template <size_t kIndex>
Operator* Construct(void* memory) {
  return ::new (memory) RunTimeOperator(registered[kIndex]);
}
template <size_t kIndex>
void FillConstructors(Operator* (**table)(void*)) {
  table[kIndex] = Construct<kIndex>;
  if constexpr (kIndex > 0) FillConstructors<kIndex - 1>(table);
}

Registered* Find(uint16_t id) {
  for (Registered* one : registered) {
    if (one != nullptr && one->row.id == id) return one;
  }
  return nullptr;
}

const OperatorRow* FindRow(uint16_t id) {
  const Registered* row = Find(id);
  return row != nullptr ? &row->row : nullptr;
}

void ReleaseAll(const Program* program, Operator* const* operators) {
  for (uint32_t i = 0; operators != nullptr && i < program->op_count(); ++i) {
    const bool is_own = operators[i] != nullptr && Find(program->op(i).op_id) != nullptr;
    if (is_own) static_cast<RunTimeOperator*>(operators[i])->Release();
  }
}

constexpr RunTimeOperators kRunTimeOperators = {FindRow, ReleaseAll};

bool IsName(const char* text, size_t length) {
  bool legal = length > 0 && text[0] >= 'a' && text[0] <= 'z';
  for (size_t i = 0; legal && i < length; ++i) {
    const char c = text[i];
    legal = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }
  return legal;
}

const AttributeKind* KindOf(const char* name) {
  for (const AttributeKind& kind : kKinds) {
    if (strcmp(kind.name, name) == 0) return &kind;
  }
  return nullptr;
}

// Returns the error of a declaration, or null.
const char* Fault(const trimtab_operator& op) {
  if (op.shape == nullptr || op.run == nullptr) return "it lacks shape or run";
  if (op.least_inputs > op.most_inputs || op.most_inputs > 255 || op.most_outputs > 255 ||
      op.least_outputs > op.most_outputs || op.least_outputs == 0)
    return "its numbers of inputs or outputs are none";
  if (op.dtypes == 0 || (op.dtypes & ~kTypeBits) != 0) return "its element types are none";
  if (((op.optional_inputs | op.constant_inputs) & ~kMaskBits) != 0)
    return "only the first 8 inputs can be optional or constant";
  if (op.layout != TRIMTAB_PLAIN && op.layout != TRIMTAB_NHWC) return "its layout is none";
  return nullptr;
}

// Declares the attributes; returns the error, or null.
const char* Declare(Registered* one) {
  uint8_t& count = one->row.field_count;
  for (const char* const* text = one->declaration.attributes; text != nullptr && *text != nullptr;
       ++text) {
    if (count == kMaxAttributes) return "it has more than 32 attributes";
    const char* const colon = strchr(*text, ':');
    const size_t length = colon != nullptr ? static_cast<size_t>(colon - *text) : 0;
    Declared& own = one->attributes[count];
    own.kind = colon != nullptr ? KindOf(colon + 1) : nullptr;
    if (own.kind == nullptr || length >= sizeof(own.name) || !IsName(*text, length))
      return "an attribute is not name:type with int, float, bool, ints or floats";
    memcpy(own.name, *text, length);
    const auto offset = static_cast<uint16_t>(count * kSlotBytes);
    one->fields[count++] = {own.kind->engine, 0, offset, 0};
  }
  return nullptr;
}

uint32_t HashCounts(uint32_t hash, uint8_t min, uint8_t max) {
  char text[24];
  Text(text, sizeof(text)).Add(" (").Add(int64_t{min}).Add(", ").Add(int64_t{max}).Add(")");
  return NameHash(text, hash);
}

// As in trimtab/schema/model.py: Python and the engine identify operators by it.
uint32_t SchemaHash(const Registered& one) {
  char id[8];
  Text(id, sizeof(id)).Add(int64_t{one.row.id}).Add(" ");
  const OperatorRow& row = one.row;
  uint32_t hash = NameHash(one.declaration.type, NameHash(id));
  hash = HashCounts(hash, row.min_inputs, row.max_inputs);
  hash = NameHash(" ", HashCounts(hash, row.min_outputs, row.max_outputs));
  for (uint8_t i = 0; i < row.field_count; ++i) {
    if (i > 0) hash = NameHash(",", hash);
    hash = NameHash(":", NameHash(one.attributes[i].name, hash));
    hash = NameHash(":", NameHash(one.attributes[i].kind->name, hash));
  }
  return hash;
}

const char* FillRow(Registered* one) {
  const trimtab_operator& op = one->declaration;
  OperatorRow& row = one->row;
  row.id = static_cast<uint16_t>(0x8000u | (NameHash(op.type) & 0x7FFFu));
  row.min_inputs = static_cast<uint8_t>(op.least_inputs);
  row.max_inputs = static_cast<uint8_t>(op.most_inputs);
  row.min_outputs = static_cast<uint8_t>(op.least_outputs);
  row.max_outputs = static_cast<uint8_t>(op.most_outputs);
  row.layout = op.layout == TRIMTAB_NHWC ? LayoutRule::kNhwc : LayoutRule::kPlain;
  row.dtypes = static_cast<uint8_t>(op.dtypes);
  row.accepts_empty = true;  // its own shape rule decides
  row.optional_mask = static_cast<uint8_t>(op.optional_inputs);
  row.constant_mask = static_cast<uint8_t>(op.constant_inputs);
  if (const char* const wrong = Declare(one)) return wrong;
  row.schema = SchemaHash(*one);
  row.fields = one->fields;
  row.factory_count = 1;
  row.factories = one->factories;
  row.name = op.type;
  one->factories[0] = &one->factory;
  one->factory = {DType::kNone,
                  static_cast<uint32_t>(sizeof(RunTimeOperator) + row.field_count * kSlotBytes),
                  nullptr};
  return nullptr;
}

// Registers the operator; returns the error, or null.
const char* Add(Registered* one, Text* why) {
  if (const char* const wrong = FillRow(one)) return wrong;
  if (const OperatorRow* const other = FindOperator(one->row.id)) {
    const Registered* const late = Find(one->row.id);
    why->Add("there is an operator ").Add(other->name[0] != '\0' ? other->name : "of its id");
    why->Add(late != nullptr ? " of " : " built in");
    return late != nullptr ? late->origin->name : "";
  }
  Operator* (*constructors[kMaxOperators])(void*);
  FillConstructors<kMaxOperators - 1>(constructors);
  for (size_t i = 0; i < kMaxOperators; ++i) {
    if (registered[i] != nullptr) continue;
    one->factory.construct = constructors[i];
    registered[i] = one;
    run_time_operators = &kRunTimeOperators;
    return nullptr;
  }
  return "32 operators are registered: there is no room for more";
}

}  // namespace

bool RegisterOperator(const trimtab_operator& declaration, const Origin& origin, Text* why) {
  why->Add(origin.name).Add(": ");
  if (declaration.struct_size < kFirstOperatorBytes) {
    why->Add("an operator's struct is too small (bytes): ");
    why->Add(static_cast<int64_t>(declaration.struct_size));
    return false;
  }
  if (declaration.abi != TRIMTAB_PLUGIN_ABI) {
    why->Add("an operator is of ABI ").Add(int64_t{declaration.abi}).Add(", this engine has ");
    why->Add(int64_t{TRIMTAB_PLUGIN_ABI});
    return false;
  }
  if (declaration.type == nullptr || !IsName(declaration.type, strlen(declaration.type))) {
    why->Add("an operator's name is not in snake_case");
    return false;
  }
  why->Add("operator ").Add(declaration.type).Add(": ");
  auto* one = static_cast<Registered*>(MapMemory(sizeof(Registered)));
  if (one == nullptr) {
    why->Add("no memory");
    return false;
  }
  const size_t known = sizeof(one->declaration);
  memcpy(&one->declaration, &declaration,
         declaration.struct_size < known ? declaration.struct_size : known);
  one->origin = &origin;
  const char* wrong = Fault(one->declaration);
  if (wrong == nullptr) wrong = Add(one, why);
  if (wrong == nullptr) return true;
  why->Add(wrong);
  UnmapMemory(one, sizeof(Registered));
  return false;
}

const Origin* OriginOf(uint16_t id) {
  const Registered* const registered = Find(id);
  return registered != nullptr ? registered->origin : nullptr;
}

bool IsInUse(const Origin& origin) {
  for (const Registered* one : registered) {
    if (one != nullptr && one->origin == &origin && one->uses > 0) return true;
  }
  return false;
}

void UnregisterOperators(const Origin& origin) {
  for (Registered*& one : registered) {
    if (one == nullptr || one->origin != &origin) continue;
    UnmapMemory(one, sizeof(Registered));
    one = nullptr;
  }
}

void ReleaseOperator(const OperatorRow& row, Operator* op) {
  if (op != nullptr && Find(row.id) != nullptr) static_cast<RunTimeOperator*>(op)->Release();
}

}  // namespace trimtab
