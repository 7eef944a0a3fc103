package httpapi

import (
	"net/http"

	"github.com/eurekaless/registry/core/view"
)

// regions returns the other regions that a request asks for and that can be
// shown; asking for one that there is not, or that does not answer, is no
// error.
func (h *Handler) regions(r *http.Request, v *view.View) []view.Region {
	list := r.URL.Query().Get("regions")
	if list == "" || h.cfg.Regions == nil {
		return nil
	}
	var out []view.Region
	for _, region := range h.cfg.Regions.Named(r.Context(), v.Boundary(), list) {
		if region.Present {
			out = append(out, view.Region{
				Name: region.Name, Generation: region.Generation, Instances: region.Instances, Changes: region.Changes,
			})
		}
	}
	return out
}
