/**
 * `npm run sbom`: the SBOM of the packed package, as CycloneDX. It is read from an installation, because for this project npm lists
 * no package that is also a development dependency.
 */
import { emptyProject, mustRun, pack } from './packed.ts'

const project = await emptyProject()
try {
  await project.install(await pack(project.folder))
  process.stdout.write(await mustRun('npm', ['sbom', '--sbom-format', 'cyclonedx'], project.folder))
} finally {
  await project.remove()
}
