func planCommand(_ arguments: Arguments) async throws { throw Failure("not yet") }
func benchCommand(_ arguments: Arguments) async throws { throw Failure("not yet") }
func inspectCommand(_ arguments: Arguments) async throws { throw Failure("not yet") }
