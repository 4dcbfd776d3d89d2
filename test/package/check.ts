/** `npm run check:package`: what publint and attw find in the packed tarball. Says nothing when they find nothing. */
import { emptyProject, mustRun, pack } from './packed.ts'

// The package is ES modules only. Node 22.13 and later can `require` them, which consumers.test.ts proves, but attw's
// rule `cjs-resolves-to-esm` is older than that. The profile leaves out `node10` alone: it knows no `exports`.
const ATTW = ['--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm']

const project = await emptyProject()
try {
  const tarball = await pack(project.folder)
  await mustRun('publint', ['run', tarball, '--strict'])
  await mustRun('attw', [tarball, ...ATTW])
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await project.remove()
}
