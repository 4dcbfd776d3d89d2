/** `npm run check:package`: prints the findings of publint and attw for the packed tarball and its size, or nothing without any. */
import { stat } from 'node:fs/promises'
import { emptyProject, mustRun, pack } from './packed.ts'

/** Every installation downloads it. */
const MAX_BYTES = 900_000

const project = await emptyProject()
try {
  const tarball = await pack(project.folder)
  const { size } = await stat(tarball)
  if (size > MAX_BYTES)
    throw new Error(
      `The tarball is ${size} bytes; expected at most ${MAX_BYTES}. List its files with npm pack --dry-run, and leave out what ` +
        'users of the installed package do not need.',
    )
  await mustRun('publint', ['run', tarball, '--strict'])
  // `node10` knows no `exports`, and a document has no types.
  await mustRun('attw', [tarball, '--exclude-entrypoints', 'openapi.json'])
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await project.remove()
}
