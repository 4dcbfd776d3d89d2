/**
 * `npm run sbom`: what the packed package is made of, as CycloneDX. It is read from an installation: of this project npm lists
 * no package that the development needs as well.
 */
import { emptyProject, mustRun, pack } from './packed.ts'

const project = await emptyProject()
try {
  await project.install(await pack(project.folder))
  process.stdout.write(await mustRun('npm', ['sbom', '--sbom-format', 'cyclonedx'], project.folder))
} finally {
  await project.remove()
}
