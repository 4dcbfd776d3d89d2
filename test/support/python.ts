/** Groups tests that need Python: skipped by name if Python is missing, and failed with CI=true. */
import { spawnSync } from 'node:child_process'
import { describe } from 'vitest'
import { titleWith } from './skipping.ts'

const missing = spawnSync('python3', ['--version']).status === 0 ? undefined : 'no python3'
if (missing !== undefined && process.env['CI'] === 'true')
  throw new Error('python3 is not installed. Install it: CI must test the model receiver.')

/** Keeps Python from writing files next to its sources, and makes its output the same everywhere. */
export const PYTHON_ENV = { PYTHONDONTWRITEBYTECODE: '1', PYTHONIOENCODING: 'utf-8' }

export function describePython(name: string, tests: () => void): void {
  describe.skipIf(missing !== undefined)(titleWith(missing, name), tests)
}
