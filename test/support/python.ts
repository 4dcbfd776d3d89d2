/** What needs a Python: skipped by name where there is none, and a failure with CI=true. */
import { spawnSync } from 'node:child_process'
import { describe } from 'vitest'
import { titleWith } from './skipping.ts'

const missing = spawnSync('python3', ['--version']).status === 0 ? undefined : 'no python3'
if (missing !== undefined && process.env['CI'] === 'true')
  throw new Error('There is no python3, and the model receiver must be tested in CI.')

/** So that it leaves nothing beside its sources, and prints the same everywhere. */
export const PYTHON_ENV = { PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' }

export function describePython(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(titleWith(missing, name), tests)
}
