/** `npm run check:package`: prints the findings of publint and attw for the packed tarball, or nothing without any. */
import { emptyProject, mustRun, pack } from './packed.ts'

// `node10` knows no `exports`.
const ATTW = ['--profile', 'node16']

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
